// The access rules about one target, and the people with access to it.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, faultAlert, field, select, showResource } from "../../ui/parts";
import { recordTable, type Column } from "../../ui/table";
import { levelsOf, loadSubjects, ofSubject, subjectOf, type Rule, type Rules, type Subjects, type UserAccess } from "../../api/access";
import { resource, invalidate, type Resource } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { words } from "../../words";
import { accessWords } from "../../words/access";

const scope = "access_control:write";
const shownAtOnce = 100; // the number of people that are shown first, and with each "Load more"

/** Loads the members and the roles that rules can name. */
export function subjects(): Signal<Subjects | undefined> {
  const all = signal<Subjects | undefined>(undefined);
  void loadSubjects().then(all.set, () => all.set({ members: [], roles: [], cut: false })); // rules then show ids
  return all;
}

const levelName = (level: string) => accessWords.levels[level] ?? level;
const kindName = (kind: string) => accessWords.kind[kind] ?? kind;

function subjectName(all: Subjects | undefined, subject: string): string {
  const [kind, id] = subject.split(" ");
  if (kind === "role") return accessWords.role(all?.roles.find((r) => r.id === id)?.name ?? id!);
  if (kind === "member") return all?.members.find((m) => m.id === id)?.user.email ?? accessWords.unknownMember(id!);
  return accessWords.everyone;
}

export interface Target {
  /** The path of the rules in the API. */
  path: string;
  /** Whether the rules are about kinds of objects, which each rule names. */
  kinds?: boolean;
  /** The text if there are no rules. By default it names the level of everyone. */
  none?: string;
  subjects: Signal<Subjects | undefined>;
  /** Called after each change. */
  changed: () => void;
}

/** Returns the table of rules, and a form that adds one. Each change is saved at once. */
export function rulesOf(t: Target): Child {
  const rules = resource<Rules>(() => ({ path: t.path }));
  const fault = signal("");
  const put: Put = async (rule, said) => {
    fault.set("");
    try {
      await send("PUT", t.path, { ...(t.kinds ? { resource: rule.resource } : {}), access_level: rule.access_level, organization_member: rule.organization_member, role: rule.role });
      announce(said);
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
    invalidate(t.path);
    rules.reload();
    t.changed();
  };
  return showResource(rules, (data) => [
    when(() => !data().user_can_edit_access_levels, () => h("p", { class: "read-only", role: "note" }, accessWords.mayNotChange)),
    faultAlert(fault),
    when(() => !data().access_controls.length, () => h("p", { class: "meta" }, () => t.none ?? accessWords.noRules(levelName(data().default_access_level)))),
    when(() => data().access_controls.length > 0, () => table(t, data, put)),
    when(() => data().user_can_edit_access_levels, () => addForm(t, data(), put)),
  ]);
}

/** Sets a rule, or removes it if its level is null. */
type Put = (rule: Omit<Rule, "access_level" | "resource_id"> & { access_level: string | null }, said: string) => Promise<void>;

function table(t: Target, data: () => Rules, put: Put): HTMLElement {
  const who = (r: Rule) => subjectName(t.subjects(), subjectOf(r));
  const locked = () => !data().user_can_edit_access_levels;
  const columns: Column<Rule>[] = [
    ...(t.kinds ? [{ label: accessWords.what, cell: (r: Signal<Rule>) => () => kindName(r().resource) }] : []),
    { label: accessWords.who, cell: (r) => h("bdi", null, () => who(r())) },
    {
      label: accessWords.level,
      cell: (r) =>
        select(() => r().access_level, () => levelsOf(data()).map((l) => [l, levelName(l)] as const), (level) => void put({ ...r.peek(), access_level: level }, words.saved), {
          "aria-label": () => (t.kinds ? accessWords.levelOfFor(who(r()), kindName(r().resource)) : accessWords.levelOf(who(r()))),
          disabled: locked,
        }),
    },
    {
      label: "",
      cell: (r) =>
        button(accessWords.remove, {
          kind: "small",
          scope,
          "aria-label": () => (t.kinds ? accessWords.removeRuleFor(who(r()), kindName(r().resource)) : accessWords.removeRule(who(r()))),
          disabledReason: () => (locked() ? accessWords.mayNotChange : null),
          run: () => put({ ...r.peek(), access_level: null }, accessWords.removed(who(r.peek()))),
        }),
      class: "tight",
    },
  ];
  return recordTable<Rule>(accessWords.rules, columns, () => data().access_controls, (r) => `${r.resource} ${subjectOf(r)}`);
}

/** Returns the form that adds a rule, or changes the one that there is for the same subject. */
function addForm(t: Target, data: Rules, put: Put): HTMLElement {
  const levels = levelsOf(data);
  const [who, level, kind] = [signal(""), signal(levels[1] ?? levels[0]!), signal("feature_flag")];
  const people = () => {
    const all = t.subjects();
    return [["", accessWords.everyone] as const, ...(all?.roles ?? []).map((r) => [`role ${r.id}`, accessWords.role(r.name)] as const), ...(all?.members ?? []).map((m) => [`member ${m.id}`, m.user.email] as const)];
  };
  return h("div", null, [
    h("div", { class: "fields gap-above" }, [
      t.kinds ? field(select(kind, () => Object.entries(accessWords.kind), kind.set), { label: accessWords.what }) : null,
      field(select(who, people, who.set), { label: accessWords.who }),
      field(select(level, () => levels.map((l) => [l, levelName(l)] as const), level.set), { label: accessWords.level }),
      button(accessWords.addRule, { scope, run: () => put({ resource: kind.peek(), access_level: level.peek(), ...ofSubject(who.peek()) }, words.saved) }),
    ]),
    () => (t.subjects()?.cut ? h("p", { class: "meta" }, accessWords.notAll) : null),
  ]);
}

export type Users = Resource<{ users: UserAccess[] }>;

/** Shows who has which access, and why. */
export function peopleOf(users: Users, all: Signal<Subjects | undefined>): Child {
  const shown = signal(shownAtOnce);
  const email = (u: UserAccess) => all()?.members.find((m) => m.id === u.organization_membership_id)?.user.email ?? accessWords.unknownMember(u.organization_membership_id);
  return showResource(users, (data) => [
    when(() => !data().users.length, () => h("p", { class: "meta" }, accessWords.nobody)),
    when(() => data().users.length > 0, () =>
      recordTable<UserAccess>(
        accessWords.people,
        [
          { label: accessWords.person, cell: (u) => h("bdi", null, () => email(u())) },
          { label: accessWords.level, cell: (u) => () => levelName(u().access_level) },
          { label: accessWords.why, cell: (u) => () => accessWords.sources[u().access_source] ?? u().access_source, class: "meta" },
        ],
        () => data().users.slice(0, shown()),
        (u) => u.user_id,
      ),
    ),
    when(() => data().users.length > shown(), () => h("p", { class: "gap-above" }, button(words.loadMore, { run: () => shown.update((n) => n + shownAtOnce) }))),
  ]);
}
