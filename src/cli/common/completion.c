// SPDX-License-Identifier: MIT
// Completion scripts for bash, zsh and fish, made from the tables of the commands. The lists of
// worlds, models, scorers and figures are those of the library.
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"

// The presets of models/settings.c.
static const char *const preset_names[] = {
    "paper",  "cpu", "tiny",  "cpu-angles",       "cpu-state",       "cpu-constants",
    "points", "box", "chain", "points-constants", "chain-constants", NULL};

// ---- words ----

// Words are separated by spaces.
static void print_word(const char *word, bool *first)
{
    printf("%s%s", *first ? "" : " ", word);
    *first = false;
}

// The words of a kind, as all worlds.
static void print_words(cli_complete complete)
{
    bool first = true;
    const char *name, *title;
    switch (complete) {
    case CLI_COMPLETE_WORLDS:
        for (int64_t i = 0; i < plumb_world_count(); i++)
            print_word(plumb_world_get_info(plumb_world_at(i))->name, &first);
        break;
    case CLI_COMPLETE_MODELS:
        for (int64_t i = 0; plumb_model_name(i); i++) print_word(plumb_model_name(i), &first);
        break;
    case CLI_COMPLETE_PRESETS:
        for (int i = 0; preset_names[i]; i++) print_word(preset_names[i], &first);
        break;
    case CLI_COMPLETE_SCORERS:
        print_word("all", &first);
        for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
            print_word(plumb_scorer_name((plumb_scorer)i), &first);
        break;
    case CLI_COMPLETE_FIGURES:
        for (int64_t i = 0; (name = plumb_figure_name(i, &title)); i++) print_word(name, &first);
        break;
    case CLI_COMPLETE_COMMANDS:
        for (int i = 0; cli_commands[i]; i++) print_word(cli_commands[i]->name, &first);
        break;
    case CLI_COMPLETE_FILES: break;
    }
}

// The values of an option; false if they are files or free text.
static bool print_values(const cli_option *option)
{
    const option_spec spec = options_spec(option);
    bool first = true;
    if (option->complete != CLI_COMPLETE_FILES) {
        print_words(option->complete);
        return true;
    }
    if (spec.kind != OPTION_ENUM || option->sets) return false;
    for (int i = 0; spec.words[i]; i++) print_word(spec.words[i], &first);
    return true;
}

// True if completion knows the values of an option.
static bool has_values(const cli_option *option)
{
    return option->complete != CLI_COMPLETE_FILES ||
           (options_spec(option).kind == OPTION_ENUM && !option->sets);
}

// ---- bash and zsh ----

// One case per option with known values, then one per command. zsh runs the same function.
static void print_bash_function(void)
{
    puts("_plumb() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
         "    case \"$COMP_CWORD ${COMP_WORDS[1]} $before\" in");
    printf("    \"1 \"*) list=\"");
    print_words(CLI_COMPLETE_COMMANDS);
    // help and version are words of main.c, not commands of the table.
    printf(" help version\" ;;\n    \"2 help \"*) list=\"");
    print_words(CLI_COMPLETE_COMMANDS);
    puts("\" ;;");
    // The options come before the commands: the shell takes the first pattern that matches.
    for (int i = 0; cli_commands[i]; i++)
        for (const cli_option *o = cli_commands[i]->options; o->name; o++) {
            if (!has_values(o)) continue;
            printf("    *\" %s --%s\") list=\"", cli_commands[i]->name, o->name);
            print_values(o);
            puts("\" ;;");
        }
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        printf("    *\" %s \"*) if [[ $word == -* ]]; then list=\"--help", command->name);
        for (const cli_option *o = command->options; o->name; o++) printf(" --%s", o->name);
        printf("\"");
        if (command->complete != CLI_COMPLETE_FILES) {
            printf("; else list=\"");
            print_words(command->complete);
            printf("\"");
        }
        puts("; fi ;;");
    }
    puts("    esac\n"
         "    # No list: file names, by -o default.\n"
         "    COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _plumb plumb");
}

// ---- fish ----

// Text in single quotes for fish.
static void print_fish_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

// One line per command, file argument and option.
static void print_fish(void)
{
    puts("# fish completion for plumb, written by plumb --completion fish");
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        printf("complete -c plumb -n __fish_use_subcommand -f -a %s -d ", command->name);
        print_fish_quoted(command->summary);
        puts("");
        if (command->complete != CLI_COMPLETE_FILES) {
            printf("complete -c plumb -n '__fish_seen_subcommand_from %s' -f -a '", command->name);
            print_words(command->complete);
            puts("'");
        }
        for (const cli_option *o = command->options; o->name; o++) {
            const option_spec spec = options_spec(o);
            printf("complete -c plumb -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                   o->name);
            if (o->letter) printf(" -s %c", o->letter);
            if (options_takes_value(o)) printf(" -r");
            if (has_values(o)) {
                printf(" -f -a '");
                print_values(o);
                printf("'");
            }
            printf(" -d ");
            print_fish_quoted(spec.help);
            puts("");
        }
    }
}

bool completion_print(const char *shell)
{
    if (!strcmp(shell, "bash")) {
        puts("# bash completion for plumb, written by plumb --completion bash");
        print_bash_function();
    } else if (!strcmp(shell, "zsh")) {
        puts("#compdef plumb\n# zsh completion for plumb, written by plumb --completion zsh\n"
             "autoload -U +X bashcompinit && bashcompinit");
        print_bash_function();
    } else if (!strcmp(shell, "fish")) print_fish();
    else return false;
    return true;
}
