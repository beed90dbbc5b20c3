// @vitest-environment happy-dom
import { act } from "react";
import { expect, it } from "vitest";
import { type OpeningState, useOpenAccount } from "./index.ts";
import { client, element, show } from "./testing/fake-client.tsx";

it("opening an account enrolls a device whose key is new, and can be cancelled", async () => {
  let opening: ReturnType<typeof useOpenAccount>;
  const states: OpeningState["step"][] = [];
  const Open = () => {
    const logIn = async ({ nonce }: { nonce: string }) => ({ method: "id_token_channel" as const, token: nonce });
    opening = useOpenAccount({ chainName: "flow-emulator", logIn });
    states.push(opening.state.step);
    return opening.state.step === "enrolling" ? opening.state.matchingCode : opening.state.step;
  };
  await show(<Open />);
  await act(async () => void opening.open());
  expect(client.calls).toEqual(["sign-up", "sign-in"]);
  expect(element.textContent).toBe("7K3F-9Q0X");
  await act(async () => opening.cancel());
  expect(element.textContent).toBe("idle");
  expect(states).toContain("enrolling");
});

it("opening an account does nothing more once it is cancelled, also with a login that comes later", async () => {
  let opening: ReturnType<typeof useOpenAccount>;
  let answer = (_: { method: "id_token_channel"; token: string }) => {};
  const Open = () => {
    const logIn = () => new Promise<Parameters<typeof answer>[0]>((resolve) => (answer = resolve));
    opening = useOpenAccount({ chainName: "flow-emulator", logIn });
    return opening.state.step;
  };
  await show(<Open />);
  await act(async () => void opening.open());
  expect(element.textContent).toBe("logging-in");
  await act(async () => opening.cancel());
  await act(async () => answer({ method: "id_token_channel", token: "late" }));
  expect([client.calls, element.textContent]).toEqual([[], "idle"]);
});
