// Who gets the notices of a guarded rollout: the followers of the flag, and a webhook (experiments.md §4.11).
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { button, faultAlert, field } from "../../ui/parts";
import { resource } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { projectPath } from "../../session";
import { words } from "../../words";
import { rolloutWords } from "../../words/rollouts";
import { showRefusal } from "../flags/actions";

export interface Notify {
  emails?: string[];
  webhook?: { url: string; secret?: string } | null;
}

interface Followers {
  following: boolean;
  count: number;
}

/** Returns the line that says who follows the flag, with a button to follow it. */
export function followLine(flag: Signal<Flag>): Child {
  const path = (part: string) => projectPath(`feature_flags/${flag.peek().id}/${part}/`);
  const list = resource<Followers>(() => ({ path: path("followers") }));
  const follow = (follows: boolean) =>
    send<Followers>("POST", path(follows ? "follow" : "unfollow")).then((now) => {
      list.data.set(now);
      announce(follows ? rolloutWords.followed : rolloutWords.unfollowed);
    }, showRefusal);
  const press = () => button(rolloutWords.follow, { kind: "small", "aria-pressed": () => list.data()!.following, run: () => follow(!list.data.peek()!.following) });
  return when(list.data, () => h("p", { class: "choices gap gap-above center" }, press(), h("span", { class: "meta" }, () => rolloutWords.followers(list.data()!.count))));
}

export interface NoticeForm {
  fields: Child;
  /** Returns the webhook as it is filled in, or null. */
  webhook: () => Notify["webhook"];
  /** Shows an error of the server at its field. It returns false if the error has another place. */
  place: (e: unknown) => boolean;
}

/** Returns the fields of a webhook. was is the stored one; its secret is not known. */
export function noticeForm(was?: Notify["webhook"]): NoticeForm {
  const faults = signal<{ url?: string; secret?: string }>({});
  const address = h("input", { type: "url", maxlength: 2000, autocomplete: "off", value: was?.url ?? "" });
  const secret = h("input", { type: "text", class: "code", maxlength: 400, autocomplete: "off", spellcheck: "false" });
  return {
    fields: [
      field(address, { label: rolloutWords.webhook, hint: rolloutWords.webhookHint, fault: () => faults().url }),
      field(secret, { label: rolloutWords.webhookSecret, hint: was ? rolloutWords.webhookSecretKept : rolloutWords.webhookSecretHint, fault: () => faults().secret }),
    ],
    webhook: () => (address.value.trim() ? { url: address.value.trim(), ...(secret.value.trim() ? { secret: secret.value.trim() } : {}) } : null),
    place: (e) => {
      const attr = e instanceof ApiError ? (e.attr ?? "") : "";
      if (!/^notify[._]+webhook/.test(attr)) return false;
      faults.set({ [attr.endsWith("secret") ? "secret" : "url"]: (e as Error).message });
      (attr.endsWith("secret") ? secret : address).focus();
      return true;
    },
  };
}

/** Opens the dialog that changes the webhook of a rollout. It returns the rollout as it is then, or undefined. */
export function changeNotices<R extends { id: number; notify: Notify | null }>(r: R): Promise<R | undefined> {
  const form = noticeForm(r.notify?.webhook);
  const other = signal("");
  return dialog<R>({ title: rolloutWords.notices }, (d) => {
    const save = async () => {
      try {
        d.close(await send<R>("PATCH", projectPath(`guarded_rollouts/${r.id}/`), { notify: { ...r.notify, webhook: form.webhook() } }));
      } catch (e) {
        if (!form.place(e)) other.set((e as Error).message);
      }
    };
    return {
      content: [faultAlert(other), h("p", { class: "meta" }, rolloutWords.noticesText), form.fields],
      buttons: button(words.save, { kind: "primary", run: save }),
    };
  });
}
