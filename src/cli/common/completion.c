// SPDX-License-Identifier: MIT
// The tables of all commands turned into a completion for bash.
#include <stdio.h>

#include "cli/common/command.h"

static void words(const char *const *choices)
{
    for (int i = 0; choices[i]; i++) printf("%s%s", i ? " " : "", choices[i]);
}

void options_completion(void)
{
    puts("# bash completion for plumb, written by plumb --completion\n"
         "_plumb() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
         "    case \"$COMP_CWORD ${COMP_WORDS[1]} $before\" in");
    printf("    \"1 \"*) list=\"");
    for (int i = 0; cli_commands[i]; i++) printf("%s%s", i ? " " : "", cli_commands[i]->name);
    puts("\" ;;");
    for (int i = 0; cli_commands[i]; i++)
        for (const cli_option *o = cli_commands[i]->options; o->name; o++) {
            if (o->kind != OPTION_CHOICE) continue;
            printf("    *\" %s --%s\") list=\"", cli_commands[i]->name, o->name);
            words(o->choices);
            puts("\" ;;");
        }
    for (int i = 0; cli_commands[i]; i++) {
        printf("    *\" %s \"*) [[ $word == -* ]] && list=\"--help", cli_commands[i]->name);
        for (const cli_option *o = cli_commands[i]->options; o->name; o++) printf(" --%s", o->name);
        puts("\" ;;");
    }
    puts("    esac\n"
         "    # No list: file names, by -o default.\n"
         "    COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _plumb plumb");
}
