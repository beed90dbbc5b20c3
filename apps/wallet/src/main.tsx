import { createRoot } from "react-dom/client";
import "@fontsource-variable/geist";
import "@fontsource-variable/geist-mono";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/page.css";
import "./styles/code.css";
import "./styles/phone.css";
import "./styles/welcome.css";
import "./styles/sheets.css";
import "./styles/buttons.css";
import "./styles/fields.css";
import "./styles/lists.css";
import "./styles/transactions.css";
import "./styles/states.css";
import "./styles/motion.css";
import { Languages } from "./i18n/index.tsx";
import { PageFailed } from "./page-failed.tsx";

const root = createRoot(document.getElementById("root") as HTMLElement);

async function start(): Promise<void> {
  // Both read the page's settings from its server, which may not answer.
  const { isLoginAnswer, passOnLogin } = await import("./login.ts");
  if (isLoginAnswer()) return passOnLogin();
  const [{ App }, { PageStateProvider }] = await Promise.all([import("./app.tsx"), import("./page-state.tsx")]);
  root.render(
    <Languages>
      <PageStateProvider>
        <App />
      </PageStateProvider>
    </Languages>,
  );
}

start().catch(() =>
  root.render(
    <Languages>
      <PageFailed />
    </Languages>,
  ),
);
