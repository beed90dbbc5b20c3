import { HardwareKeyError } from "@countersign/react-native";
import { type ReactNode, useState } from "react";
import { Button, StyleSheet, Text, View } from "react-native";
import { openAccount, registerForPush, storeGreeting } from "./account";
import { useAccount, useClient, useEvents, useSessionState } from "./useClient";

const ELSEWHERE = "Your account is on another device: enroll this phone there first.";

/** One screen: the session, the account, a transaction, the last event. */
export function App() {
  const { client, error } = useClient();
  const state = useSessionState(client);
  const isOpen = state === "signed-in" || state === "frozen";
  const event = useEvents(client, isOpen);
  const account = useAccount(client, isOpen, event);
  const [line, setLine] = useState("");
  const [isBusy, setBusy] = useState(false);

  /** Does one thing at a time: a double tap would send two transactions. */
  const act = (work: () => Promise<string>) => async () => {
    setBusy(true);
    try {
      setLine(await work());
    } catch (refusal) {
      const isCancelled = refusal instanceof HardwareKeyError && refusal.isCancelled;
      setLine(isCancelled ? "" : String(refusal));
    } finally {
      setBusy(false);
    }
  };

  if (client === undefined) return <Screen lines={[error === undefined ? "Opening the key …" : String(error)]} />;
  const open = act(async () => {
    if ((await openAccount(client)) === "elsewhere") return ELSEWHERE;
    return "";
  });
  const store = act(async () => `sealed: ${await storeGreeting(client, "hello", setLine)}`);
  const push = act(async () => {
    await registerForPush(client);
    return "";
  });
  const addresses = account?.addresses.map(({ chainType, address }) => `${chainType} ${address}`) ?? [];
  return (
    <Screen lines={[state, ...addresses, line, event ? `last event: ${event.type}` : ""]}>
      {isOpen ? (
        <>
          <Button title="Store a greeting" disabled={isBusy} onPress={store} />
          <Button title="Notify this phone" disabled={isBusy} onPress={push} />
          <Button
            title="Sign out"
            disabled={isBusy}
            onPress={act(async () => {
              await client.signOut();
              return "";
            })}
          />
        </>
      ) : (
        <Button title="Sign in" disabled={isBusy} onPress={open} />
      )}
    </Screen>
  );
}

function Screen({ lines, children }: { lines: readonly string[]; children?: ReactNode }) {
  return (
    <View style={styles.screen}>
      {lines.filter(Boolean).map((text) => (
        <Text key={text}>{text}</Text>
      ))}
      {children}
    </View>
  );
}

const styles = StyleSheet.create({ screen: { flex: 1, paddingHorizontal: 24, paddingTop: 72, gap: 12 } });
