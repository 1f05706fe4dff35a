package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// finding is the result of a check. An empty state means healthOK, and advice is the code of what an
// operator should do.
type finding struct {
	state   string
	details []message
	advice  string
}

// message is a text of healthTexts with the values of its placeholders. It is the type of
// httpapi.HealthCheck.Messages.
type message = struct {
	Code   string         `json:"code"`
	Values map[string]any `json:"values"`
}

// values are the values of a message by the name of their placeholder.
type values = map[string]any

// size is a number of bytes.
type size int64

// say returns a message.
func say(code string, v values) message { return message{code, v} }

// detail returns the finding's messages in English.
func (f *finding) detail() string {
	texts := make([]string, len(f.details))
	for i, m := range f.details {
		var pairs []string
		for name, v := range m.Values {
			pairs = append(pairs, "{"+name+"}", valueText(v))
		}
		texts[i] = strings.NewReplacer(pairs...).Replace(healthTexts[m.Code])
	}
	return strings.Join(texts, "; ")
}

func bytesText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/1024)
}

// valueText returns a value in English.
func valueText(v any) string {
	switch v := v.(type) {
	case size:
		return bytesText(int64(v))
	case time.Duration:
		return v.Round(time.Second).String()
	case time.Time:
		return v.UTC().Format(time.DateTime) + " UTC"
	case []string:
		return strings.Join(v, ", ")
	case float64:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprint(v)
}

// messages returns the finding's messages in the form of responses: sizes in bytes, durations in
// seconds and times as management writes them.
func (f *finding) messages() []message {
	out := make([]message, len(f.details))
	for i, m := range f.details {
		out[i] = say(m.Code, values{})
		for name, v := range m.Values {
			switch t := v.(type) {
			case time.Duration:
				v = t.Round(time.Second).Seconds()
			case time.Time:
				v = management.NewStamp(t)
			}
			out[i].Values[name] = v
		}
	}
	return out
}

// healthTexts are all texts of the checks in English, by code. The catalogue of the console has the
// same codes and placeholders. A placeholder ends in _bytes or _seconds if its value is a size or a
// duration.
var healthTexts = map[string]string{
	"store_silent": "The store does not respond: {error}",
	"store_check":  "Check that the database is running and can be reached from this server.",

	"storage_size":    "{used_bytes} stored",
	"storage_unknown": "size not known",
	"storage_log":     "{log_bytes} in the write-ahead log",
	"storage_free":    "{free_bytes} free",
	"storage_full":    "Free space on the disk of the data folder now: without it no more events are accepted.",
	"storage_low":     "Free space on the disk of the data folder, or keep events for fewer days.",

	"segments_files":   "{files} files with {used_bytes}",
	"segments_waiting": "events that are to be written into files: {waiting}",
	"segments_free":    "{free_bytes} free on their disk",
	"segments_failing": "No file could be written since {since}: {error}",
	"segments_retry":   "Nothing is lost, and it is tried again: events stay in the database until then. Check the folder of the segments.",
	"segments_full":    "Free space on the disk of the segments. Nothing is lost: events stay in the database until then.",
	"segments_low":     "Free space on the disk of the segments, or keep events for fewer days.",

	"commits_none": "Nothing was stored in the last minutes.",
	"commits_mean": "{mean} ms on average in the last minutes",
	"commits_slow": "The disk or the database is slow: check what else uses it.",

	"intake_waiting": "waiting events: {waiting}",
	"intake_kept":    "nothing dropped in the last hour",
	"intake_dropped": "dropped in the last hour: {dropped} ({reasons})",
	"intake_stopped": "No event can be stored. Failed tries in the last minutes: {failed}",
	"intake_retry":   "Senders try again. See the log for the reason, and whether the disk is full.",
	"intake_failing": "tries to store events that have failed in the last minutes: {failed}, requests that were refused for now: {refused}",
	"intake_busy":    "Senders try again. Events arrive faster than the store can write them, or some writes fail: see the log.",

	"definitions_unread": "Definitions could not be read; flags are evaluated with the last valid ones. Failed reads in the last minutes: {failed}",
	"definitions_store":  "from the store",
	"definitions_files":  "from files: {files}",
	"definitions_file":   "{path} cannot be used, its last valid version stays in use: {error}",
	"definitions_faults": "faults in {path}: {faults}, the first is {error}",
	"definitions_check":  "Correct the file; bunting check FILE shows what is wrong.",

	"stream_waiting": "waiting messages: {waiting}, the oldest for {oldest_seconds}",
	"stream_dead":    "dead letters: {dead}",
	"stream_stuck":   "Events wait in the stream and are not recorded: see the log.",
	"stream_slow":    "Events come in faster than they are recorded: see how long commits take.",
	"stream_requeue": "bunting deadletters lists what could not be recorded, and can requeue it.",

	"mail_off":     "No mails are sent: there is no mail server.",
	"mail_waiting": "waiting mails: {waiting}",
	"mail_late":    "waiting mails: {waiting}, one since {since}",
	"mail_refused": "The mail server does not accept them: see the log for its response.",

	"exports_good":    "exports: {total}, none failed",
	"exports_failing": "exports whose last run failed: {failing} of {total}: {names}",
	"exports_check":   "See the log of the run, and test the destination.",

	"changes_none":    "none overdue",
	"changes_overdue": "overdue scheduled changes: {overdue}",
	"see_log":         "See the log for the reason.",

	"rollouts_off":     "This server does not evaluate rollouts.",
	"rollouts_watched": "rollouts watched: {live}",
	"rollouts_failing": "rollouts that cannot be evaluated: {failing}",
	"rollout_failing":  "rollout {rollout} of project {project} since {since}: {error}",
	"rollouts_pause":   "Their metrics are not watched. See the log for the reason, and pause them or roll them back.",
	"rollouts_late":    "Rollouts are evaluated late, by {late_seconds}",
	"rollouts_slow":    "Their metrics are not watched in time. See the log, and whether queries take long.",

	"webhooks_waiting": "waiting webhooks: {waiting}",
	"webhooks_late":    "waiting webhooks: {waiting}, one since {since}",
	"webhooks_refused": "Their receiver does not accept them: see the log for its response.",

	"backup_none":    "no backup since the start",
	"backup_last":    "the last good backup is of {at}, {written_bytes}",
	"backup_failed":  "the last attempt has failed: {error}",
	"backup_retried": "Correct the cause; the backup is tried again by itself. Until then: bunting backup --output FILE.",
	"backup_due":     "one is due every {every_seconds}",
	"backup_slow":    "A backup takes longer than its interval: use a longer interval, or a faster destination.",
	"backup_kept":    "old backups could not be deleted: {error}",
	"backup_delete":  "Let the credentials delete objects, or delete old backups by another rule.",

	"certificate_none":       "There is no certificate yet.",
	"certificate_unreadable": "The certificate cannot be read: {error}",
	"certificate_until":      "good until {until}",
	"certificate_failed":     "the last attempt to obtain one has failed: {error}",
	"certificate_renew":      "Renew the certificate: the file is read again when it changes.",
	"certificate_replace":    "Replace it.",
	"certificate_obtain":     "The server obtains the certificate by itself: see the log.",
	"certificate_retried":    "Correct the cause; the server tries again by itself.",

	"clock_steady": "steady",
	"clock_moved":  "The clock was moved by {moved_seconds} since the start.",
	"clock_check":  "Check that the machine's clock is synchronized (NTP).",
}
