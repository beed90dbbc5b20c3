import { useData } from "vitepress";
import { defineComponent, h, onMounted, ref, watch } from "vue";

let diagrams = 0;

/** Draws a Mermaid diagram in the browser; until then, and without JavaScript, its source is shown. */
export const MermaidDiagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup(props) {
    const source = decodeURIComponent(props.source);
    const svg = ref("");
    const { isDark } = useData();
    const draw = async () => {
      const { default: mermaid } = await import("mermaid");
      mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: isDark.value ? "dark" : "default" });
      diagrams += 1;
      svg.value = (await mermaid.render(`mermaid-${diagrams}`, source)).svg;
    };
    onMounted(draw);
    watch(isDark, draw);
    return () => (svg.value ? h("div", { class: "mermaid", innerHTML: svg.value }) : h("pre", source));
  },
});
