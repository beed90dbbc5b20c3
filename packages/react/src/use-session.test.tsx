// @vitest-environment happy-dom
import { act } from "react";
import { expect, it } from "vitest";
import { SignedIn, SignedOut } from "./index.ts";
import { client, element, show } from "./testing/fake-client.tsx";

it("the gates follow the session", async () => {
  await show([<SignedIn key="in">in</SignedIn>, <SignedOut key="out">out</SignedOut>]);
  expect(element.textContent).toBe("in");
  await act(async () => client.move("frozen"));
  expect(element.textContent).toBe("in");
  await act(async () => client.move("ended"));
  expect(element.textContent).toBe("out");
});
