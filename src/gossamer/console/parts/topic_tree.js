// A tree of any size through a window of rows: the server has the tree, this has what is in sight.
export default {
  template: `
    <div class="tree" role="tree" tabindex="0" aria-label="Topics" ref="box"
         @scroll="look" @keydown="key">
      <div class="tree-all" :style="{ height: total * rowHeight + 'px' }">
        <div v-for="(row, index) in rows" :key="row.path" class="tree-row" role="treeitem"
             :class="{ chosen: row.path === chosen }" :data-path="row.path"
             :aria-level="row.depth + 1" :aria-selected="row.path === chosen"
             :aria-expanded="row.children ? row.open : undefined"
             :style="{ top: (offset + index) * rowHeight + 'px', height: rowHeight + 'px',
                       paddingLeft: row.depth * 16 + 6 + 'px' }"
             @click="choose(row)">
          <span class="tree-arrow" aria-hidden="true" @click.stop="toggle(row)">{{
            row.children ? (row.open ? "▾" : "▸") : "" }}</span>
          <span class="tree-name">{{ row.name === "" ? "(empty)" : row.name }}</span>
          <span v-if="row.children" class="tree-more">{{ row.children }}</span>
          <span class="tree-value">{{ row.value }}</span>
          <svg v-if="row.line" class="tree-line" viewBox="0 0 100 24" preserveAspectRatio="none"
               aria-hidden="true"><polyline :points="row.line" /></svg>
          <span class="tree-count">{{ row.count }}</span>
        </div>
      </div>
    </div>`,
  props: { rows: Array, total: Number, offset: Number, chosen: String, rowHeight: Number },
  mounted() {
    this.observer = new ResizeObserver(() => this.look());
    this.observer.observe(this.$refs.box);
  },
  unmounted() {
    this.observer.disconnect();
  },
  methods: {
    look() {
      const box = this.$refs.box;
      const first = Math.floor(box.scrollTop / this.rowHeight);
      const count = Math.ceil(box.clientHeight / this.rowHeight);
      if (first === this.first && count === this.count) return;
      this.first = first;
      this.count = count;
      this.$emit("window", { first, count });
    },
    toggle(row) {
      if (row.children) this.$emit("toggle", row.path);
    },
    choose(row) {
      this.$emit("choose", row.path);
      if (row.children && !row.open) this.toggle(row);
    },
    key(event) {
      const index = this.rows.findIndex((row) => row.path === this.chosen);
      const row = this.rows[index];
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step !== undefined) {
        const next = this.rows[index < 0 ? 0 : index + step];
        if (next) this.bring(index < 0 ? 0 : index + step, next);
      } else if (row && event.key === "ArrowRight" && !row.open) this.toggle(row);
      else if (row && event.key === "ArrowLeft" && row.open) this.toggle(row);
      else if (row && event.key === "Enter") this.toggle(row);
      else return;
      event.preventDefault();
    },
    bring(index, row) {
      const box = this.$refs.box;
      const top = (this.offset + index) * this.rowHeight;
      if (top < box.scrollTop) box.scrollTop = top;
      const bottom = top + this.rowHeight;
      if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
      this.$emit("choose", row.path);
    },
  },
};
