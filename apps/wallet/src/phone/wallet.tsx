import { useAccount, useSession } from "@countersign/react";
import { ArrowDownLeft, ArrowUpRight, FileCode, Snowflake } from "lucide-react";
import { useLanguage, useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { Copyable } from "../ui/copyable.tsx";
import { Empty, Failed } from "../ui/states.tsx";
import { formatAmount, useBalance } from "./balance.ts";
import { History, useHistory } from "./history.tsx";
import { usePhone } from "./phone-context.tsx";

const ACTS = [
  ["send", ArrowUpRight, "send-tokens"],
  ["receive", ArrowDownLeft, "read-balance"],
  ["script", FileCode, "run-script"],
] as const;

/** Balance, address, the three acts with money, and the last transactions. */
export function Wallet({ address, onActivity }: { address: string | undefined; onActivity: () => void }) {
  const t = useTexts();
  const { language } = useLanguage();
  const { open } = usePhone();
  const { showCode } = usePageState();
  const { state } = useSession();
  const { error: failure, data, reload } = useAccount();
  const { balance, error } = useBalance(address);
  const isDown = (failure ?? error) !== undefined;
  const history = useHistory();
  const evm = data?.addresses.find(({ chainType }) => chainType === "evm")?.address;
  return (
    <>
      <div className="balance-card">
        <p className="overline">{t.wallet.balance}</p>
        <p className="balance" data-testid="balance">
          {balance === undefined ? (
            isDown ? (
              <span>–</span>
            ) : (
              <span className="skeleton" />
            )
          ) : (
            <span key={balance}>{formatAmount(balance, language)}</span>
          )}
          <small>FLOW</small>
        </p>
        <dl>
          <div>
            <dt>{t.wallet.address}</dt>
            <dd>{address ? <Copyable text={address} isWhole /> : isDown ? "–" : "…"}</dd>
          </div>
          {evm && (
            <div>
              <dt>{t.wallet.evm}</dt>
              <dd>
                <Copyable text={evm} />
              </dd>
            </div>
          )}
        </dl>
      </div>
      {state === "frozen" && (
        <p className="note frozen">
          <Snowflake size={18} aria-hidden />
          {t.security.frozen}
        </p>
      )}
      {isDown && <Failed error={failure ?? error} retry={reload} />}
      <div className="acts">
        {ACTS.map(([name, Icon, code]) => (
          <button
            key={name}
            type="button"
            className="act"
            onClick={() => {
              showCode(code);
              open({ name });
            }}
          >
            <span className="act-icon">
              <Icon size={20} aria-hidden />
            </span>
            {t.wallet[name]}
          </button>
        ))}
      </div>
      <h3>
        {t.wallet.recent}
        {history.length > 3 && (
          <button type="button" className="link" onClick={onActivity}>
            {t.wallet.all}
          </button>
        )}
      </h3>
      {history.length === 0 ? (
        <Empty title={t.wallet.empty} hint={t.wallet.emptyHint} />
      ) : (
        <History entries={history.slice(0, 3)} />
      )}
    </>
  );
}
