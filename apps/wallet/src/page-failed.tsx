import { useTexts } from "./i18n/index.tsx";

/** In place of the page where its settings could not be read. */
export function PageFailed() {
  const { page, common } = useTexts();
  return (
    <main className="page-failed">
      <img src="/mark.svg" alt="" width="44" height="44" />
      <h1>{page.failed}</h1>
      <p className="muted">{page.failedHint}</p>
      <button type="button" className="button primary" onClick={() => location.reload()}>
        {common.retry}
      </button>
    </main>
  );
}
