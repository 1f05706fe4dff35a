// The renderer: signals, elements and keyed lists. The effects and rows that a function creates while
// it runs end before it runs again, or when its owner ends.

type Cleanup = () => void;

interface Observer {
  run(): void;
  sources: Set<Set<Observer>>;
  alive: boolean;
}

let observer: Observer | undefined;
let owned: Cleanup[] | undefined;
let queue: Set<Observer> | undefined;

export interface Signal<T> {
  (): T;
  set(value: T): void;
  update(change: (value: T) => T): void;
  peek(): T;
}

/** Creates a signal: a value whose changes rerun the effects that read it. */
export function signal<T>(value: T): Signal<T> {
  const readers = new Set<Observer>();
  const read = (() => {
    if (observer) {
      readers.add(observer);
      observer.sources.add(readers);
    }
    return value;
  }) as Signal<T>;
  read.peek = () => value;
  read.set = (next) => {
    if (Object.is(next, value)) return;
    value = next;
    batch(() => readers.forEach((r) => queue!.add(r)));
  };
  read.update = (change) => read.set(change(value));
  return read;
}

/** Groups changes. The effects that they affect run once, at the end of the outermost batch. */
export function batch<T>(work: () => T): T {
  if (queue) return work();
  queue = new Set();
  try {
    return work();
  } finally {
    try {
      for (const o of queue) {
        queue.delete(o); // it may be queued again
        if (o.alive) o.run();
      }
    } finally {
      queue = undefined;
    }
  }
}

/** Runs work now, and again whenever a signal that it read changes. */
export function effect(work: () => void): void {
  const made: Cleanup[] = [];
  const self: Observer = {
    alive: true,
    sources: new Set(),
    run() {
      forget(self, made);
      const [o, w] = [observer, owned];
      observer = self;
      owned = made;
      try {
        work();
      } finally {
        observer = o;
        owned = w;
      }
    },
  };
  onEnd(() => {
    self.alive = false;
    forget(self, made);
  });
  self.run();
}

function forget(o: Observer, made: Cleanup[]): void {
  o.sources.forEach((s) => s.delete(o));
  o.sources.clear();
  end(made);
}

function end(made: Cleanup[]): void {
  for (const c of made.splice(0).reverse()) c();
}

/** Creates a signal that is computed from others. */
export function computed<T>(work: () => T): () => T {
  const out = signal<T>(undefined as T);
  effect(() => out.set(work()));
  return out;
}

/** Registers a function that is called when the current owner ends. */
export function onEnd(cleanup: Cleanup): void {
  owned?.push(cleanup);
}

/** Runs work without following the signals that it reads. */
export function untracked<T>(work: () => T): T {
  const o = observer;
  observer = undefined;
  try {
    return work();
  } finally {
    observer = o;
  }
}

/** Runs work in a scope of its own, which ends when the returned function is called or its owner ends. */
export function scope<T>(work: () => T): [T, Cleanup] {
  const made: Cleanup[] = [];
  const close = () => end(made);
  onEnd(close);
  const w = owned;
  owned = made;
  try {
    return [untracked(work), close];
  } finally {
    owned = w;
  }
}

type Plain = Node | string | number | boolean | null | undefined;
export type Child = Plain | Child[] | (() => Child);
type Value = string | number | boolean | null | undefined;
export type Props = Record<string, Value | ((e: never) => unknown) | (() => Value)>;

/** Creates an HTML element. Properties on… are listeners; other functions are values that follow signals. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  return build(document.createElement(tag), props, children);
}

/** Creates an SVG element. */
export function s(tag: string, props?: Props | null, ...children: Child[]): SVGElement {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children) as SVGElement;
}

function build<E extends Element>(el: E, props: Props | null | undefined, children: Child[]): E {
  append(el, children); // a select needs its options before its value
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on") && typeof value === "function") {
      el.addEventListener(name.slice(2), value as EventListener);
    } else if (typeof value === "function") {
      effect(() => assign(el, name, (value as () => Value)()));
    } else {
      assign(el, name, value);
    }
  }
  return el;
}

/** The names that are set as properties, because they are the state of a control. All others are attributes. */
const properties = new Set(["value", "checked", "indeterminate", "selected", "open"]);

/** Sets an attribute, or the property with the state of a control, if it differs. Null removes it. */
export function assign(el: Element, name: string, value: Value): void {
  if (properties.has(name) && name in el && !(el instanceof HTMLOptionElement && name === "value")) {
    const target = el as unknown as Record<string, Value>;
    if (target[name] !== value) target[name] = value ?? (name === "value" ? "" : false);
  } else if (value === null || value === undefined || value === false) {
    // aria-… is set to "false", other attributes are removed
    if (value === false && name.startsWith("aria-")) el.setAttribute(name, "false");
    else el.removeAttribute(name);
  } else {
    const text = value === true ? (name.startsWith("aria-") ? "true" : "") : String(value);
    if (el.getAttribute(name) !== text) el.setAttribute(name, text);
  }
}

/** Appends children. The result of a function is replaced whenever it changes. */
export function append(parent: Node, children: Child): void {
  if (Array.isArray(children)) {
    for (const c of children) append(parent, c);
  } else if (typeof children === "function") {
    follow(parent, children);
  } else {
    const node = toNode(children);
    if (node) parent.appendChild(node);
  }
}

function toNode(c: Plain): Node | null {
  if (c instanceof Node) return c;
  return c === null || c === undefined || typeof c === "boolean" || c === "" ? null : document.createTextNode(String(c));
}

function follow(parent: Node, child: () => Child): void {
  const start = document.createComment("");
  const stop = document.createComment("");
  parent.appendChild(start);
  parent.appendChild(stop);
  let before: unknown;
  effect(() => {
    const next = child();
    const text = typeof next === "string" || typeof next === "number";
    if (text && typeof before === "string" && before && String(next)) {
      (start.nextSibling as Text).data = String(next);
    } else {
      while (start.nextSibling !== stop) start.nextSibling!.remove();
      const made = document.createDocumentFragment();
      append(made, next);
      stop.parentNode!.insertBefore(made, stop);
    }
    before = text ? String(next) : undefined;
  });
}

/** Shows a child while test is true. It is created again only when the result of test changes between true and false. */
export function when(test: () => unknown, make: () => Child): Child {
  const is = computed(() => Boolean(test()));
  return () => (is() ? untracked(make) : null);
}

interface Row<T> {
  item: Signal<T>;
  node: Element;
  close: Cleanup;
}

/**
 * Renders a list. A row keeps its element as long as its key exists, so that focus, scroll position and
 * typed text are kept.
 */
export function each<T>(items: () => readonly T[], key: (item: T) => string | number, render: (item: Signal<T>) => Element): Child {
  const stop = document.createComment("");
  const out = document.createDocumentFragment();
  out.appendChild(stop);
  const rows = new Map<string | number, Row<T>>();
  onEnd(() => rows.forEach((r) => r.close()));
  effect(() => {
    const list = items();
    untracked(() => {
      const wanted = new Set(list.map(key));
      for (const [k, row] of rows) {
        if (wanted.has(k)) continue;
        row.close();
        row.node.remove();
        rows.delete(k);
      }
      placeRows(stop, rows, list, key, render);
    });
  });
  return out;
}

function placeRows<T>(stop: Node, rows: Map<string | number, Row<T>>, list: readonly T[], key: (item: T) => string | number, render: (item: Signal<T>) => Element): void {
  let next: Node = stop;
  for (let i = list.length - 1; i >= 0; i--) {
    const item = list[i]!;
    let row = rows.get(key(item));
    if (row) {
      row.item.set(item);
    } else {
      const made = signal(item);
      const [node, close] = detachedScope(() => render(made));
      row = { item: made, node, close };
      rows.set(key(item), row);
    }
    if (row.node.nextSibling !== next) next.parentNode!.insertBefore(row.node, next);
    next = row.node;
  }
}

/** Runs work in a scope without an owner. It ends only when the returned function is called. */
export function detachedScope<T>(work: () => T): [T, Cleanup] {
  const w = owned;
  owned = undefined;
  try {
    return scope(work);
  } finally {
    owned = w;
  }
}

let ids = 0;

/** Returns a new id, for example for aria-labelledby. */
export function newID(): string {
  return `i${++ids}`;
}
