import type { AccountEvent } from "@countersign/client";
import { useAccount, useAccountEvents } from "@countersign/react";
import { Activity as ActivityIcon, Bomb, Shield, Wallet as WalletIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { PHONE_OF, usePageState } from "../page-state.tsx";
import { Activity, type SeenEvent } from "./activity.tsx";
import { ApproveDevice } from "./approve-device.tsx";
import { Attacks } from "./attacks.tsx";
import { Notification } from "./notification.tsx";
import { usePhone } from "./phone-context.tsx";
import { Receive } from "./receive.tsx";
import { Script } from "./script.tsx";
import { Security } from "./security.tsx";
import { Send } from "./send.tsx";
import { TransactionPage } from "./transaction-page.tsx";
import { Wallet } from "./wallet.tsx";

const ICONS = { wallet: WalletIcon, activity: ActivityIcon, security: Shield, attack: Bomb } as const;
type TabName = keyof typeof ICONS;
const TABS = Object.keys(ICONS) as TabName[];
const MAX_EVENTS = 50;

/** Returns the account's address on the page's chain, once it is known. */
const useAddress = (): string | undefined =>
  useAccount().data?.addresses.find((each) => each.chainName === network.chainName && each.chainType === "cadence")
    ?.address;

/** A signed-in phone: four tabs, the screens above them, and what events bring. */
export function Account() {
  const t = useTexts();
  const { id, screen, open, back } = usePhone();
  const { setAddress, markDone, showCode, asked } = usePageState();
  const [since] = useState(() => performance.now());
  const [tab, setTab] = useState<TabName>("wallet");
  const [events, setEvents] = useState<readonly SeenEvent[]>([]);
  const address = useAddress();
  useAccountEvents((event: AccountEvent) =>
    setEvents((before) => [{ event, at: new Date() }, ...before].slice(0, MAX_EVENTS)),
  );
  useEffect(() => {
    if (address) markDone("open");
    setAddress(id, address);
    return () => setAddress(id, undefined);
  }, [id, address, setAddress, markDone]);
  useEffect(() => {
    if (!asked || asked.at < since || PHONE_OF[asked.step] !== id) return;
    if (asked.step === "send") {
      showCode("send-tokens");
      return open({ name: "send" });
    }
    back();
    setTab(asked.step === "attack" ? "attack" : asked.step === "freeze" ? "security" : "wallet");
  }, [asked, since, id, open, back, showCode]);
  const choose = (next: TabName) => {
    setTab(next);
    const code = { wallet: "read-balance", activity: "follow-events", security: "freeze", attack: "changed-message" };
    showCode(code[next]);
  };

  return (
    <>
      <Notification newest={events[0]} />
      <Tabs className="tabs" selectedKey={tab} onSelectionChange={(key) => choose(key as TabName)} hidden={!!screen}>
        <TabList className="tab-bar" aria-label={t.page.phones[id]}>
          {TABS.map((name) => {
            const Icon = ICONS[name];
            return (
              <Tab key={name} id={name} className="tab">
                <Icon size={20} aria-hidden />
                {t.tabs[name]}
              </Tab>
            );
          })}
        </TabList>
        <TabPanel id="wallet" className="screen">
          <Wallet address={address} onActivity={() => choose("activity")} />
        </TabPanel>
        <TabPanel id="activity" className="screen">
          <Activity events={events} />
        </TabPanel>
        <TabPanel id="security" className="screen">
          <Security address={address} />
        </TabPanel>
        <TabPanel id="attack" className="screen">
          <Attacks address={address} />
        </TabPanel>
      </Tabs>
      {screen?.name === "send" && <Send address={address} />}
      {screen?.name === "receive" && <Receive address={address} />}
      {screen?.name === "script" && <Script />}
      {screen?.name === "transaction" && <TransactionPage id={screen.id} />}
      <ApproveDevice />
    </>
  );
}
