import type { Command } from "@countersign/runtime";
import { type Asked, adminCommand } from "./admin-command.ts";
import { neutralize } from "./output.ts";
import type { Services } from "./services.ts";

/** The result of an act: done, unless its outcome says otherwise. */
export interface Acted {
  readonly actionId: string;
  readonly outcome?: string;
  readonly details?: readonly string[];
}

interface Definition<Argument extends string, Option extends string, Answer extends Acted> {
  readonly usage: string;
  readonly about: string;
  /** The request's fields that are the command's arguments, in their order. */
  readonly arguments: readonly Argument[];
  /** The request's fields that are options, which must be given. */
  readonly options?: Readonly<Record<Option, string>>;
  act(services: Services, request: Record<"reason" | Argument | Option, string>): Promise<Answer | undefined>;
  /** Returns a line about an answer without details. */
  detail?(answer: Answer): string;
  /** Lines for the person, apart from the output. */
  readonly notes?: readonly string[];
}

/** Prints what became of an act. */
export function showActed(
  { show }: Pick<Asked, "show">,
  answer: Acted | undefined,
  more: readonly string[] = [],
): void {
  if (!answer) throw new Error("the service answered without an outcome");
  const { actionId, outcome = "done", details = [] } = answer;
  show(answer, () => [`${outcome}: action ${actionId}`, ...[...details, ...more].map(neutralize)]);
}

/** Makes a command that calls one service for an effect, and prints what became of it. */
export function actCommand<const Argument extends string, Answer extends Acted, const Option extends string = never>(
  definition: Definition<Argument, Option, Answer>,
): Command {
  const { usage, about, arguments: fields, options = {}, notes = [] } = definition;
  const named = Object.entries<string>(options);
  return adminCommand({
    usage,
    about,
    options: named.map(([, option]) => option),
    arguments: [fields.length, fields.length],
    async run(asked) {
      const { services, reason, given, required, progress } = asked;
      const request = Object.fromEntries([
        ["reason", reason],
        ...fields.map((field, i) => [field, given[i]!]),
        ...named.map(([field, option]) => [field, required(option)]),
      ]);
      const answer = await definition.act(services, request);
      showActed(asked, answer, answer && definition.detail ? [definition.detail(answer)] : []);
      for (const line of notes) progress(line);
    },
  });
}
