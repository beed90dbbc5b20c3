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
import { App } from "./app.tsx";
import { Languages } from "./i18n/index.tsx";
import { isLoginAnswer, passOnLogin } from "./login.ts";
import { PageStateProvider } from "./page-state.tsx";

const root = createRoot(document.getElementById("root") as HTMLElement);
if (isLoginAnswer()) await passOnLogin();
else {
  root.render(
    <Languages>
      <PageStateProvider>
        <App />
      </PageStateProvider>
    </Languages>,
  );
}
