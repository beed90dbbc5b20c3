// @vitest-environment happy-dom
import type { CountersignClient } from "@countersign/client";
import { act } from "react";
import { renderToString } from "react-dom/server";
import { expect, it } from "vitest";
import { CountersignProvider, SignedIn, SignedOut } from "./index.ts";
import { client, element, show } from "./testing/fake-client.tsx";

it("the gates follow the session", async () => {
  await show([<SignedIn key="in">in</SignedIn>, <SignedOut key="out">out</SignedOut>]);
  expect(element.textContent).toBe("in");
  await act(async () => client.move("frozen"));
  expect(element.textContent).toBe("in");
  await act(async () => client.move("ended"));
  expect(element.textContent).toBe("out");
});

it("a server renders the page without a session, as the browser does at first", () => {
  const gates = [<SignedIn key="in">in</SignedIn>, <SignedOut key="out">out</SignedOut>];
  const page = <CountersignProvider client={client as unknown as CountersignClient}>{gates}</CountersignProvider>;
  expect(renderToString(page)).toBe("out");
});
