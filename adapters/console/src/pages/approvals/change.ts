// The page of a change request: its changes, their effect, and its votes.
import { h, when, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { diffFlags, changesTable } from "../../ui/diff";
import { effectBody, effectRegion } from "../../ui/effect";
import { button, showResource } from "../../ui/parts";
import { recordPage } from "../../ui/record";
import { time } from "../../ui/time";
import { approvedBy, isOpen, type ChangeRequest } from "../../api/approvals";
import { resource, invalidate } from "../../api/cache";
import { send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { go, href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project, session } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";
import { showRefusal } from "../flags/actions";

export default function changePage(params: Params): Child {
  const path = () => projectPath(`change_requests/${params.id}/`);
  const got = resource<ChangeRequest>(() => ({ path: path() }));
  const flagPath = (r: ChangeRequest) => projectPath(`feature_flags/${r.flag}/`);
  /** The flag to compare with: the current one, or the earlier version if the request is closed. */
  const flag = resource<Flag>(() => {
    const r = got.data();
    return r?.flag_key ? { path: isOpen(r) ? flagPath(r) : `${flagPath(r)}versions/${r.base_version}/` } : null;
  });
  const act = async (name: string, body?: object) => {
    try {
      const r = await send<ChangeRequest>("POST", `${path()}${name}/`, body);
      announce(approvalWords.done[name === "approve" ? "approved" : r.state] ?? r.state);
    } catch (e) {
      showRefusal(e);
    }
    invalidate("change_requests");
    invalidate("feature_flags");
  };
  return recordPage<ChangeRequest>({
    record: got,
    title: (r) => approvalWords.changeOf(r.flag_key || approvalWords.gone),
    list: { label: words.approvals, path: "approvals" },
    actions: (r) => tools(r, act),
    show: (data) => [
      h("p", { class: "gap" }, h("strong", null, () => data().title || approvalWords.untitled(data().id)), " ", () => (data().flag_key ? h("a", { href: href(`p/${project()}/flags/${data().flag}`) }, approvalWords.seeFlag) : null)),
      () => (data().note ? h("p", { class: "gap" }, h("bdi", null, data().note)) : null),
      h("p", { class: "meta" }, () => [
        [approvalWords.states[data().state] ?? data().state, approvalWords.ofNeeded(approvedBy(data()), data().needed), approvalWords.asked(data().author ?? approvalWords.somebody, data().revision), ...(data().editors.length ? [approvalWords.editedBy(data().editors.join(", "))] : [])].join(" · "),
        " · ",
        time(data().updated_at),
      ]),
      when(() => data().flag_key, () => showResource(flag, (f) => () => difference(data(), f()))),
      h("section", { class: "card gap-above", "aria-label": approvalWords.votes }, h("h2", { id: "votes" }, approvalWords.votes), () => votes(data())),
    ],
  });
}

function difference(r: ChangeRequest, f: Flag): Child {
  return [
    isOpen(r) && f.version !== r.base_version ? h("p", { role: "note", class: "read-only" }, approvalWords.changedSince(r.base_version)) : null,
    h("h2", { class: "gap gap-above" }, words.changes),
    changesTable(diffFlags(f, { ...f, ...r.patch })),
    isOpen(r) ? h("div", { class: "gap-above" }, effectRegion(r.flag, () => effectBody({ ...f, ...r.patch, active: r.patch.deleted || r.patch.archived ? false : (r.patch.active ?? f.active) }))) : null,
  ];
}

function votes(r: ChangeRequest): Child {
  if (!r.votes.length) return h("p", { class: "meta" }, approvalWords.noVotes);
  return h("ul", { class: "rows", "aria-labelledby": "votes" }, r.votes.map((v) => h("li", null, h("bdi", null, v.user ?? approvalWords.somebody), " ", approvalWords.says[v.vote] ?? v.vote, h("span", { class: "space" }), h("span", { class: "meta" }, time(v.at)))));
}

/** Returns the buttons. A disabled button is described by the reason. */
function tools(r: () => ChangeRequest, act: (name: string, body?: object) => Promise<void>): Child {
  const me = () => session()?.user.email ?? "";
  const wrote = () => r().author === me() || r().editors.includes(me());
  const closed = () => (isOpen(r()) ? null : approvalWords.closed(approvalWords.states[r().state] ?? r().state));
  const administers = () => (session()?.projects.find((p) => p.id === project())?.level ?? 0) >= 8;
  const confirmAct = (title: string, text: string, name: string, label: string, body?: object) => confirm(title, text, label).then((yes) => (yes ? act(name, body) : undefined));
  const seen = () => ({ revision: r().revision });
  const scope = "feature_flag:write";
  return [
    button(approvalWords.approve, { kind: "primary", scope, disabledReason: () => closed() ?? (wrote() ? approvalWords.own : null), run: () => act("approve", seen()) }),
    button(approvalWords.reject, { scope, disabledReason: closed, run: () => confirmAct(approvalWords.rejectAsk, approvalWords.rejectText, "reject", approvalWords.reject, seen()) }),
    button(approvalWords.apply, { scope, disabledReason: () => closed() ?? (approvedBy(r()) < r().needed ? approvalWords.tooFew : null), run: () => confirmAct(approvalWords.applyAsk, approvalWords.applyText, "apply", approvalWords.apply) }),
    button(approvalWords.edit, { scope, disabledReason: () => (r().state === "rejected" ? null : closed()), run: () => go(`p/${project.peek()}/flags/${r().flag}`, { change: String(r().id) }) }),
    button(approvalWords.withdraw, { scope, disabledReason: () => closed() ?? (wrote() || administers() ? null : approvalWords.notOwn), run: () => confirmAct(approvalWords.withdrawAsk, approvalWords.withdrawText, "withdraw", approvalWords.withdraw) }),
  ];
}
