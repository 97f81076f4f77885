// A map without tiles: graticule, clients, tracks and fences, in Web Mercator, drawn as SVG.
const STEPS = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001,
  0.0005, 0.0002, 0.0001];
const GRID_PIXELS = 90; // graticule lines are at least this far apart
const CROWD = 80; // so many tracks have small marks and no names
const NEAR_PIXELS = 16; // a click so near to a mark means it
const EQUATOR = 40075016.7; // metres
const LIMIT = 85; // degrees; Mercator has no poles
const [LEAST_ZOOM, MOST_ZOOM] = [0, 20];

const toX = (lon) => (lon + 180) / 360;
const toY = (lat) => {
  const s = Math.sin((Math.max(-LIMIT, Math.min(LIMIT, lat)) * Math.PI) / 180);
  return 0.5 - Math.log((1 + s) / (1 - s)) / (4 * Math.PI);
};
const toLon = (x) => x * 360 - 180;
const toLat = (y) => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;
const distance = (a, b) => {
  const [p, q] = [a, b].map(([lat, lon]) => [(lat * Math.PI) / 180, (lon * Math.PI) / 180]);
  const h = Math.sin((q[0] - p[0]) / 2) ** 2 +
    Math.cos(p[0]) * Math.cos(q[0]) * Math.sin((q[1] - p[1]) / 2) ** 2;
  return (EQUATOR / Math.PI) * Math.asin(Math.sqrt(h));
};

export default {
  template: `
    <div class="map" ref="box" tabindex="0" role="application"
         aria-label="Map. Arrows move it, plus and minus zoom."
         :data-tool="tool" @keydown="key" @wheel.prevent="wheel" @pointerdown="down"
         @pointermove="move" @pointerup="up" @pointercancel="up" @dblclick.prevent="finish">
      <svg :width="width" :height="height">
        <g class="map-grid">
          <g v-for="line in grid.meridians"><line :x1="line.at" :x2="line.at" y1="0" :y2="height" />
            <text :x="line.at + 3" :y="height - 5">{{ line.text }}</text></g>
          <g v-for="line in grid.parallels"><line x1="0" :x2="width" :y1="line.at" :y2="line.at" />
            <text x="4" :y="line.at - 3">{{ line.text }}</text></g>
        </g>
        <g v-for="fence in fences" class="map-fence" :class="{ mine: fence.mine }"
           :data-fence="fence.label"><title>{{ fence.label }}</title>
          <polygon v-for="ring in fence.rings" :points="path(ring)" /></g>
        <g v-for="track in tracks" class="map-track" :class="{ chosen: track.label === chosen }"
           :data-track="track.label">
          <title>{{ track.label }}</title>
          <polyline :points="path(track.points)" />
          <circle :cx="px(track.points[track.points.length - 1])[0]" :r="crowded ? 3.5 : 5"
                  :cy="px(track.points[track.points.length - 1])[1]" />
          <text v-if="!crowded" :x="px(track.points[track.points.length - 1])[0] + 8"
                :y="px(track.points[track.points.length - 1])[1] + 4">{{ track.name }}</text>
        </g>
        <g class="map-draft">
          <polygon v-if="tool === 'polygon' && draft.length > 2" :points="path(draft)" />
          <polyline v-else-if="tool === 'polygon'" :points="path(draft)" />
          <circle v-for="corner in draft" r="4" :cx="px(corner)[0]" :cy="px(corner)[1]" />
          <circle v-if="tool === 'circle' && draft.length === 2" class="map-round"
                  :cx="px(draft[0])[0]" :cy="px(draft[0])[1]" :r="draftRadius" />
        </g>
        <g class="map-scale" :transform="'translate(' + (width - scale.pixels - 14) + ',18)'">
          <line x1="0" :x2="scale.pixels" y1="0" y2="0" />
          <text :x="scale.pixels / 2" y="15">{{ scale.text }}</text></g>
      </svg>
      <div class="map-buttons">
        <button type="button" aria-label="Zoom in" @click.stop="zoomBy(1)">+</button>
        <button type="button" aria-label="Zoom out" @click.stop="zoomBy(-1)">−</button>
        <button type="button" aria-label="Zoom to fit" @click.stop="fit">⤢</button>
      </div>
    </div>`,
  props: { tracks: Array, fences: Array, tool: String, chosen: String },
  data() {
    return { width: 600, height: 400, x: 0.5, y: 0.4, zoom: 1.2, draft: [], fitted: false };
  },
  mounted() {
    this.pointers = new Map();
    this.observer = new ResizeObserver(() => {
      this.width = this.$refs.box.clientWidth;
      this.height = this.$refs.box.clientHeight;
      this.fitOnce();
    });
    this.observer.observe(this.$refs.box);
  },
  unmounted() {
    this.observer.disconnect();
  },
  watch: {
    tracks() { this.fitOnce(); },
    fences() { this.fitOnce(); },
    tool() { this.draft = []; },
  },
  computed: {
    // Of those in view: who comes nearer reads their names.
    crowded() { return this.tracks.filter((track) => this.inView(track)).length >= CROWD; },
    size() { return 256 * 2 ** this.zoom; },
    grid() {
      const degrees = (GRID_PIXELS / this.size) * 360;
      const step = [...STEPS].reverse().find((one) => one >= degrees) || STEPS[0];
      const digits = Math.max(0, -Math.floor(Math.log10(step)));
      const [north, west] = this.place(0, 0);
      const [south, east] = this.place(this.width, this.height);
      const lines = (from, to, at, marks) => {
        const found = [];
        for (let n = Math.ceil(from / step); n * step <= to; n++) {
          const value = n * step;
          const mark = value === 0 ? "" : value > 0 ? marks[0] : marks[1];
          found.push({ at: at(value), text: Math.abs(value).toFixed(digits) + "°" + mark });
        }
        return found;
      };
      return {
        meridians: lines(Math.max(-180, west), Math.min(180, east),
          (lon) => this.px([0, lon])[0], "EW"),
        parallels: lines(Math.max(-LIMIT, south), Math.min(LIMIT, north),
          (lat) => this.px([lat, 0])[1], "NS"),
      };
    },
    scale() {
      const [lat] = this.place(this.width / 2, this.height / 2);
      const metre = this.size / (EQUATOR * Math.cos((lat * Math.PI) / 180));
      const most = 120 / metre;
      const power = 10 ** Math.floor(Math.log10(most));
      const length = [5, 2, 1].map((one) => one * power).find((one) => one <= most);
      return { pixels: length * metre, text: length >= 1000 ? length / 1000 + " km" : length + " m" };
    },
    draftRadius() {
      const [a, b] = this.draft.map((place) => this.px(place));
      return Math.hypot(a[0] - b[0], a[1] - b[1]);
    },
  },
  methods: {
    px([lat, lon]) {
      return [(toX(lon) - this.x) * this.size + this.width / 2,
        (toY(lat) - this.y) * this.size + this.height / 2];
    },
    place(left, top) {
      return [toLat(this.y + (top - this.height / 2) / this.size),
        toLon(this.x + (left - this.width / 2) / this.size)];
    },
    path(points) {
      return points.map((one) => this.px(one).map((n) => n.toFixed(1)).join(",")).join(" ");
    },
    at(event) {
      const box = this.$refs.box.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    },
    fitOnce() {
      if (!this.fitted && this.width > 0) this.fitted = this.fit();
    },
    fit() {
      const all = [...this.tracks.map((track) => track.points).flat(),
        ...this.fences.map((fence) => fence.rings).flat(2)];
      if (!all.length) return false;
      const xs = all.map((one) => toX(one[1]));
      const ys = all.map((one) => toY(one[0]));
      const [left, right, top, bottom] =
        [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      this.x = (left + right) / 2;
      this.y = (top + bottom) / 2;
      const room = 0.85 * Math.min(this.width / Math.max(right - left, 1e-6),
        this.height / Math.max(bottom - top, 1e-6));
      this.zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, Math.log2(room / 256)));
      return true;
    },
    zoomBy(step, at = [this.width / 2, this.height / 2]) {
      const before = this.size;
      this.zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, this.zoom + step));
      const part = 1 / before - 1 / this.size;
      this.x += (at[0] - this.width / 2) * part;
      this.y += (at[1] - this.height / 2) * part;
      this.fitted = true;
    },
    wheel(event) {
      this.zoomBy(-event.deltaY / 300, this.at(event));
    },
    key(event) {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const moved = step[event.key];
      if (moved) this.pan(moved[0] * -60, moved[1] * -60);
      else if (event.key === "+" || event.key === "=") this.zoomBy(1);
      else if (event.key === "-") this.zoomBy(-1);
      else if (event.key === "Enter" && event.target === this.$refs.box) this.finish();
      else if (event.key === "Escape") this.draft = [];
      else return;
      event.preventDefault();
    },
    pan(right, down) {
      this.x -= right / this.size;
      this.y -= down / this.size;
      this.fitted = true;
    },
    down(event) {
      if (event.target.tagName === "BUTTON") return;
      this.$refs.box.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.at(event));
      this.travelled = 0;
      if (this.tool === "circle") this.draft = [this.place(...this.at(event))];
    },
    move(event) {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = this.at(event);
      if (this.tool === "circle") {
        this.draft = [this.draft[0], this.place(...now)];
      } else if (this.pointers.size === 2) {
        const other = [...this.pointers.entries()].find(([id]) => id !== event.pointerId)[1];
        const spread = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
        this.zoomBy(Math.log2(spread(now) / Math.max(1, spread(before))), other);
      } else {
        this.pan(now[0] - before[0], now[1] - before[1]);
      }
      this.travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      this.pointers.set(event.pointerId, now);
    },
    up(event) {
      if (!this.pointers.delete(event.pointerId)) return;
      if (this.tool === "circle") this.finish();
      else if (this.tool === "polygon" && this.travelled < 5)
        this.draft = [...this.draft, this.place(...this.at(event))];
      else if (this.tool === "" && this.travelled < 5) this.choose(this.at(event));
    },
    inView(track) {
      const [left, top] = this.px(track.points[track.points.length - 1]);
      return left >= 0 && top >= 0 && left <= this.width && top <= this.height;
    },
    choose(at) {
      let [found, nearest] = ["", NEAR_PIXELS];
      for (const track of this.tracks) {
        const [left, top] = this.px(track.points[track.points.length - 1]);
        const away = Math.hypot(left - at[0], top - at[1]);
        if (away < nearest) [found, nearest] = [track.label, away];
      }
      this.$emit("choose", found);
    },
    finish() {
      const draft = this.draft;
      this.draft = [];
      if (this.tool === "circle" && draft.length === 2) {
        const radius = distance(draft[0], draft[1]);
        if (radius > 0) this.$emit("circle", { lat: draft[0][0], lon: draft[0][1], radius });
      } else if (this.tool === "polygon") {
        const corners = draft.filter((one, n) => n === 0 || distance(one, draft[n - 1]) > 0);
        if (corners.length > 2) this.$emit("polygon", corners);
        else this.draft = draft;
      }
    },
  },
};
