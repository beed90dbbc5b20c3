import { expect, it } from "vitest";
import { addressRules } from "./addresses.ts";

const none = addressRules([]);

it.each([
  ["loopback", ["127.0.0.1", "127.255.255.254", "::1"]],
  ["private", ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"]],
  ["link-local and metadata services", ["169.254.169.254", "169.254.170.2", "fe80::1", "100.100.100.200"]],
  ["carrier NAT", ["100.64.0.1", "100.127.255.255"]],
  ["this host", ["0.0.0.0", "0.1.2.3", "::"]],
  ["multicast, reserved, broadcast", ["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1"]],
  ["documentation and benchmarks", ["192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "2001:db8::1"]],
  ["IPv4 in IPv6", ["::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1"]],
  ["tunnels", ["2002:7f00:1::1", "2001:0:7f00:1::1", "64:ff9b:1::1"]],
  ["no address", ["", "localhost", "127.1", "0x7f000001", "2130706433"]],
])("%s: refused", (_, addresses) => {
  expect(addresses.filter((each) => none.isAllowed(each))).toEqual([]);
});

it("the public internet is allowed", () => {
  const addresses = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1"];
  expect(addresses.filter((each) => !none.isAllowed(each))).toEqual([]);
});

it("networks that the operator names are allowed, and only these", () => {
  const { isAllowed, isNamed } = addressRules(["10.1.0.0/16", "127.0.0.1", "fd12::/16"]);
  for (const each of ["10.1.2.3", "127.0.0.1", "fd12::1"])
    expect([isAllowed(each), isNamed(each)]).toEqual([true, true]);
  for (const each of ["10.2.0.1", "127.0.0.2", "fd13::1", "169.254.169.254"]) expect(isAllowed(each)).toBe(false);
  expect([isAllowed("8.8.8.8"), isNamed("8.8.8.8")]).toEqual([true, false]);
});
