// @vitest-environment happy-dom
import { act } from "react";
import { expect, it } from "vitest";
import { useAction } from "./index.ts";
import { element, show } from "./testing/fake-client.tsx";

it("an action runs once for a double click, and keeps its failure", async () => {
  let runs = 0;
  let action: ReturnType<typeof useAction<[], never>>;
  const Button = () => {
    action = useAction(async () => {
      runs += 1;
      throw new Error("refused");
    });
    return `${action.isPending} ${action.error}`;
  };
  await show(<Button />);
  await act(async () => void (await Promise.all([action.run(), action.run()])));
  expect([runs, element.textContent]).toEqual([1, "false Error: refused"]);
});

it("an action that runs is not forgotten: it is shown as running until it ends", async () => {
  let end = () => {};
  let action: ReturnType<typeof useAction<[], string>>;
  const Button = () => {
    action = useAction(() => new Promise((resolve) => (end = () => resolve("done"))));
    return `${action.isPending} ${action.result}`;
  };
  await show(<Button />);
  await act(async () => void action.run());
  await act(async () => action.reset());
  expect(element.textContent).toBe("true undefined");
  await act(async () => end());
  await act(async () => action.reset());
  expect(element.textContent).toBe("false undefined");
});
