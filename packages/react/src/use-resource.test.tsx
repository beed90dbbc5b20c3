// @vitest-environment happy-dom
import { act, useEffect } from "react";
import { describe, expect, it, vi } from "vitest";
import { useAccountEvents, useDevices, useIsLive } from "./index.ts";
import { client, element, show } from "./testing/fake-client.tsx";

function Names() {
  const { data, error, isLoading } = useDevices();
  return `${data?.map(({ name }) => name).join()} ${error ? "failed" : ""}${isLoading ? "loading" : ""}`;
}

describe("data of the service", () => {
  it("is read again after its events, over one stream for all", async () => {
    await show([<Names key="1" />, <Names key="2" />]);
    expect(element.textContent).toBe("Ada's phone Ada's phone ");
    expect(client.streams).toBe(1);
    client.devicesAnswer = async () => [{ name: "Ada's tablet" }];
    await act(async () => client.emit("key.revoked"));
    expect(element.textContent).toBe("Ada's tablet Ada's tablet ");
    client.devicesAnswer = async () => [{ name: "nobody's" }];
    await act(async () => client.emit("time-lock.started"));
    expect(element.textContent).not.toContain("nobody's");
  });

  it("is live while its stream is connected", async () => {
    const Live = () => (useIsLive() ? "live" : "not live");
    await show([<Live key="1" />, <Names key="2" />]);
    expect(element.textContent).toContain("liveAda");
    expect(element.textContent).not.toContain("not live");
    await act(async () => client.onConnection?.(false));
    expect(element.textContent).toContain("not live");
    await act(async () => client.onConnection?.(true));
    await act(async () => client.move("ended"));
    expect(element.textContent).toContain("not live");
    await act(async () => client.move("signed-in"));
    expect(element.textContent).not.toContain("not live");
  });

  it("keeps the last answer beside a failure, and takes no late one", async () => {
    await show(<Names />);
    client.devicesAnswer = () => Promise.reject(new Error("no answer"));
    await act(async () => client.emit("stream.reset"));
    expect(element.textContent).toBe("Ada's phone failed");
    let late = (_: unknown) => {};
    client.devicesAnswer = () => new Promise((resolve) => (late = resolve));
    await act(async () => client.emit("key.added"));
    client.devicesAnswer = async () => [{ name: "the newest" }];
    await act(async () => client.emit("key.added"));
    await act(async () => late([{ name: "late" }]));
    expect(element.textContent).toBe("the newest ");
  });

  it("is read again although an app's own listener fails, whose error the platform reports", async () => {
    const Failing = () => {
      useAccountEvents(() => {
        throw new Error("the app's mistake");
      });
      return null;
    };
    const reported: unknown[] = [];
    vi.stubGlobal("reportError", (error: unknown) => reported.push(error));
    await show([<Failing key="1" />, <Names key="2" />]);
    client.devicesAnswer = async () => [{ name: "Ada's tablet" }];
    await act(async () => client.emit("key.revoked"));
    expect(element.textContent).toBe("Ada's tablet ");
    expect(client.streams).toBe(1);
    expect(reported).toMatchObject([{ message: "the app's mistake" }]);
    vi.unstubAllGlobals();
  });

  it("of one person is not shown to the next, who signs in on the same page", async () => {
    await show(<Names />);
    await act(async () => client.move("signed-out"));
    expect(element.textContent).not.toContain("Ada");
    client.devicesAnswer = () => Promise.reject(new Error("no answer"));
    await act(async () => client.move("signed-in"));
    expect(element.textContent).toBe("undefined failed");
  });

  it("of one person is not shown to the next, who signs in without a sign-out; the stream is the new person's", async () => {
    await show(<Names />);
    client.devicesAnswer = () => Promise.reject(new Error("no answer"));
    client.accountId = "grace";
    await act(async () => client.move("signed-in"));
    expect(element.textContent).toBe("undefined failed");
    client.devicesAnswer = async () => [{ name: "Grace's phone" }];
    await act(async () => client.emit("key.added"));
    expect([client.streams, element.textContent]).toEqual([1, "Grace's phone "]);
  });

  it("of one person is in no frame of the next", async () => {
    const frames: string[] = [];
    const Frames = () => {
      const names = useDevices().data?.map(({ name }) => name);
      useEffect(() => void frames.push(`${client.accountId} sees ${names}`));
      return null;
    };
    await show(<Frames />);
    client.accountId = "grace";
    client.devicesAnswer = () => new Promise(() => {});
    await act(async () => client.move("signed-in"));
    expect(frames).toContain("ada sees Ada's phone");
    expect(frames).not.toContain("grace sees Ada's phone");
  });

  it("is read again once its events are live: those before are not in the stream, and a read may have failed", async () => {
    client.connects = false;
    client.devicesAnswer = () => Promise.reject(new Error("offline"));
    await show(<Names />);
    expect(element.textContent).toBe("undefined failed");
    client.devicesAnswer = async () => [{ name: "Ada's phone" }];
    await act(async () => client.onConnection?.(true));
    expect(element.textContent).toBe("Ada's phone ");
    client.devicesAnswer = () => Promise.reject(new Error("must not be asked"));
    await act(async () => client.onConnection?.(false));
    expect(element.textContent).toBe("Ada's phone ");
  });

  it("is shown as soon as one answer is there, also while a later one is on its way", async () => {
    let first = (_: unknown) => {};
    client.devicesAnswer = () => new Promise((resolve) => (first = resolve));
    client.connects = false;
    await show(<Names />);
    client.devicesAnswer = () => new Promise(() => {});
    await act(async () => client.onConnection?.(true));
    await act(async () => first([{ name: "Ada's phone" }]));
    expect(element.textContent).toBe("Ada's phone loading");
  });

  it("is not read without a session, and the stream ends with it", async () => {
    client.state = "signed-out";
    client.devicesAnswer = () => Promise.reject(new Error("must not be asked"));
    await show(<Names />);
    expect([client.streams, element.textContent]).toEqual([0, "undefined loading"]);
    client.devicesAnswer = async () => [];
    await act(async () => client.move("signed-in"));
    expect(client.streams).toBe(1);
    await act(async () => client.move("ended"));
    expect(client.streams).toBe(0);
  });
});
