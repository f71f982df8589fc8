/*
 * cli.h - the command `cede`: one function per subcommand, one table of them (main.c).
 *
 * Exit statuses: 0 done, 1 ran but failed, 2 bad input.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_BAD_INPUT 2

/* argument[0] is the subcommand's name. */
int cmd_compare(int count, char **argument);
int cmd_ctl(int count, char **argument);
int cmd_check(int count, char **argument);
int cmd_replay(int count, char **argument);
int cmd_report(int count, char **argument);
int cmd_run(int count, char **argument);
int cmd_sim(int count, char **argument);
int cmd_top(int count, char **argument);
int cmd_trace(int count, char **argument);
int cmd_tables(int count, char **argument);

#endif
