// @vitest-environment happy-dom
import { act } from "react";
import { expect, it } from "vitest";
import { useAction } from "./index.ts";
import { client, element, show, unmount } from "./testing/fake-client.tsx";

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

it.each(["result", "error"] as const)(
  "an action's %s is not shown to another person, who signs in",
  async (outcome) => {
    let action: ReturnType<typeof useAction<[], string>>;
    const Button = () => {
      action = useAction(async () => {
        if (outcome === "error") throw new Error("Ada's");
        return "Ada's";
      });
      return `${action.result ?? action.error}`;
    };
    const become = (accountId: string | undefined) =>
      act(async () => {
        client.accountId = accountId;
        client.move(accountId ? "signed-in" : "signed-out");
      });
    // Ada's, also where the action itself has opened her session.
    for (const before of ["ada", undefined]) {
      await become(before);
      await show(<Button />);
      await act(async () => {
        const running = action.run();
        client.accountId = "ada";
        await running;
      });
      await become("ada");
      expect(element.textContent).toContain("Ada's");
      await become("grace");
      expect(element.textContent).toBe("undefined");
      await act(async () => unmount());
    }
  },
);

it("an action without a provider keeps its outcome", async () => {
  let action: ReturnType<typeof useAction<[], string>>;
  const Button = () => {
    action = useAction(async () => "done");
    return `${action.result}`;
  };
  await show(<Button />, false);
  await act(async () => void action.run());
  expect(element.textContent).toBe("done");
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
