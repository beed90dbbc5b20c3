import { type Command, command, UsageError } from "@countersign/runtime";

const words = (usage: string): string[] =>
  usage.split(" ").slice(
    0,
    usage.split(" ").findIndex((word) => !/^[a-z][a-z-]*$/.test(word)),
  );
const optionsOf = (usage: string): string[] => [...new Set(usage.match(/--[a-z]+/g) ?? [])];

/** Returns a completion for bash: the words of the commands, then the options of the one that was typed. */
function bashCompletion(usages: readonly string[]): string {
  const commands = usages.map((usage) => ({ words: words(usage), options: optionsOf(usage) }));
  const firsts = [...new Set(commands.map(({ words: [first] }) => first))].join(" ");
  const seconds = Map.groupBy(
    commands.filter(({ words: all }) => all.length > 1),
    ({ words: [first] }) => first,
  );
  return [
    "_countersign() {",
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: of bash
    '  local word="${COMP_WORDS[COMP_CWORD]}" first="${COMP_WORDS[1]}" known=""',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${firsts}" -- "$word")); return`,
    "  fi",
    '  if [ "$COMP_CWORD" -eq 2 ]; then',
    '    case "$first" in',
    ...[...seconds].map(
      ([first, all]) => `      ${first}) known="${all.map(({ words: [, second] }) => second).join(" ")}" ;;`,
    ),
    "    esac",
    '    if [ -n "$known" ]; then COMPREPLY=($(compgen -W "$known" -- "$word")); return; fi',
    "  fi",
    '  case "$first ${COMP_WORDS[2]}" in',
    ...commands
      .toSorted((a, b) => b.words.length - a.words.length)
      .map(
        ({ words: all, options }) =>
          `    "${all.join(" ")}"${all.length === 1 ? '" "*' : ""}) known="${options.join(" ")}" ;;`,
      ),
    "  esac",
    '  COMPREPLY=($(compgen -W "$known" -- "$word"))',
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: of bash
    "}",
    "complete -o default -F _countersign countersign",
  ].join("\n");
}

/** Makes the command that prints completions of these commands; it calls nobody and is not recorded. */
export const completionOf = (commands: readonly Command[]): Command =>
  command({
    usage: "completion <bash | zsh>",
    about: "Prints a completion for the shell: `source <(countersign completion bash)`.",
    options: {},
    positionals: true,
    async run({ positionals: [shell, ...rest], print }) {
      if (rest.length > 0 || (shell !== "bash" && shell !== "zsh")) throw new UsageError(this.usage);
      const usages = [...commands.map(({ usage }) => usage), this.usage];
      if (shell === "zsh") print("autoload -U +X bashcompinit && bashcompinit");
      print(bashCompletion(usages));
    },
  });
