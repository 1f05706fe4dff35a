package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/metrics"
)

// healthView is the input of checks: the counters now, some minutes ago, and an hour ago.
type healthView struct {
	*parts
	now, recent, hour totals
	began             time.Time
}

// The thresholds of the checks. Of two, the first is for a warning and the second for a bad state.
const (
	littleDisk, noDisk     = 2 << 30, 200 << 20
	slowCommit, hangCommit = 250 * time.Millisecond, 2 * time.Second
	longLag, hopelessLag   = time.Minute, 10 * time.Minute
	lateMail               = 15 * time.Minute
	lateSchedule           = time.Minute
	certificateSoon        = 21 * 24 * time.Hour
	certificateNow         = 3 * 24 * time.Hour
	clockMoved             = 5 * time.Second
)

// healthChecks are the checks in the order of the response.
var healthChecks = []struct {
	name  string
	has   func(*parts) bool
	check func(context.Context, *healthView) finding
}{
	{"storage", (*parts).hasStore, storageHealth},
	{"segments", func(p *parts) bool { return p.store != nil && p.Segments != "" }, segmentsHealth},
	{"commits", (*parts).hasRecorder, commitHealth},
	{"intake", (*parts).hasRecorder, intakeHealth},
	{"definitions", func(*parts) bool { return true }, definitionsHealth},
	{"stream", func(p *parts) bool { return p.stream != nil }, streamHealth},
	{"mail", func(p *parts) bool { return p.rooms != nil && p.rooms.Organizations != nil }, mailHealth},
	{"exports", func(p *parts) bool { return p.rooms != nil && p.rooms.BatchExports != nil && !p.Without.has(Exports) }, exportsHealth},
	{"scheduled changes", func(p *parts) bool { return p.rooms != nil && p.rooms.Changes != nil }, scheduleHealth},
	{"rollouts", func(p *parts) bool { return p.rooms != nil && p.rooms.Rollouts != nil }, rolloutsHealth},
	{"webhooks", func(p *parts) bool { return p.rooms != nil && p.rooms.Organizations != nil }, webhooksHealth},
	{"backups", func(p *parts) bool { return p.backup != nil }, backupHealth},
	{"certificate", func(p *parts) bool { return p.server.certificate != nil }, certificateHealth},
	{"clock", func(*parts) bool { return true }, clockHealth},
}

func (p *parts) hasStore() bool    { return p.store != nil }
func (p *parts) hasRecorder() bool { return p.recorder != nil }

// storeProblem returns the finding of a check that got an error from the store.
func storeProblem(err error) finding {
	return finding{healthBad, []message{say("store_silent", values{"error": err.Error()})}, "store_check"}
}

// good returns the finding of a check that has found no problem.
func good(code string, v values) finding { return finding{details: []message{say(code, v)}} }

// storageHealth checks that the store responds and the disk has space.
func storageHealth(ctx context.Context, v *healthView) finding {
	if _, err := v.projects(ctx); err != nil {
		return storeProblem(err)
	}
	now := v.store.Size(ctx)
	f := good("storage_unknown", nil)
	if now.Database >= 0 {
		f = good("storage_size", values{"used_bytes": size(now.Database + max(now.Segments, 0))})
	}
	if now.WAL > 0 {
		f.details = append(f.details, say("storage_log", values{"log_bytes": size(now.WAL)}))
	}
	if now.Free < 0 {
		return f
	}
	f.details = append(f.details, say("storage_free", values{"free_bytes": size(now.Free)}))
	switch {
	case now.Free < noDisk:
		f.state, f.advice = healthBad, "storage_full"
	case now.Free < littleDisk:
		f.state, f.advice = healthWarn, "storage_low"
	}
	return f
}

// segmentsHealth checks that events can be written into segment files, and that their disk has space if
// it is another one than that of the database.
func segmentsHealth(ctx context.Context, v *healthView) finding {
	since, err := v.store.SealFailure()
	return segmentsFinding(metrics.Storage(v.store.Size(ctx)), since, err)
}

// segmentsFinding implements segmentsHealth. No file could be written since a time if err is not nil.
func segmentsFinding(now metrics.Storage, since time.Time, err error) finding {
	f := good("segments_files", values{"files": now.SegmentFiles, "used_bytes": size(now.Segments)})
	f.details = append(f.details, say("segments_waiting", values{"waiting": now.Unsealed}))
	if now.SegmentsFree >= 0 {
		f.details = append(f.details, say("segments_free", values{"free_bytes": size(now.SegmentsFree)}))
	}
	switch {
	case err != nil:
		f.details = append([]message{say("segments_failing", values{"since": since, "error": err.Error()})}, f.details...)
		f.state, f.advice = healthWarn, "segments_retry"
		if now.SegmentsFree >= 0 && now.SegmentsFree < noDisk {
			f.advice = "segments_full"
		}
	case now.SegmentsFree >= 0 && now.SegmentsFree < littleDisk:
		f.state, f.advice = healthWarn, "segments_low"
	}
	return f
}

// commitHealth checks how long accepted events wait until they are stored.
func commitHealth(_ context.Context, v *healthView) finding {
	commits := v.now.recorder.Commits - v.recent.recorder.Commits
	if commits == 0 {
		return good("commits_none", nil)
	}
	mean := (v.now.recorder.CommitTime - v.recent.recorder.CommitTime) / time.Duration(commits)
	f := good("commits_mean", values{"mean": mean.Seconds() * 1000})
	switch {
	case mean >= hangCommit:
		f.state, f.advice = healthBad, "commits_slow"
	case mean >= slowCommit:
		f.state, f.advice = healthWarn, "commits_slow"
	}
	return f
}

// intakeHealth checks how many events wait, could not be stored, and were dropped.
func intakeHealth(_ context.Context, v *healthView) finding {
	now, before := &v.now.recorder, &v.recent.recorder
	failed, rejected := now.Failures-before.Failures, now.Rejected-before.Rejected+now.TimedOut-before.TimedOut
	waiting, dropped := say("intake_waiting", values{"waiting": now.Waiting}), droppedMessage(v)
	switch {
	case failed > 0 && now.Commits == before.Commits:
		return finding{healthBad, []message{say("intake_stopped", values{"failed": failed}), waiting, dropped}, "intake_retry"}
	case failed+rejected > 0:
		return finding{healthWarn, []message{say("intake_failing", values{"failed": failed, "refused": rejected}), waiting, dropped}, "intake_busy"}
	}
	return finding{details: []message{waiting, dropped}}
}

// droppedMessage returns the events dropped in the last hour by reason, the most frequent first.
func droppedMessage(v *healthView) message {
	type count struct {
		reason string
		n      uint64
	}
	var list []count
	sum := uint64(0)
	for reason, n := range v.now.intake.Dropped {
		if n -= v.hour.intake.Dropped[reason]; n > 0 {
			list, sum = append(list, count{string(reason), n}), sum+n
		}
	}
	if sum == 0 {
		return say("intake_kept", nil)
	}
	slices.SortFunc(list, func(a, b count) int {
		if a.n != b.n {
			return int(b.n) - int(a.n)
		}
		return strings.Compare(a.reason, b.reason)
	})
	reasons := make([]string, len(list))
	for i, c := range list {
		reasons[i] = fmt.Sprintf("%s %d", c.reason, c.n)
	}
	return say("intake_dropped", values{"dropped": sum, "reasons": reasons})
}

// definitionsHealth checks that the definitions can be read from the store and the files.
func definitionsHealth(_ context.Context, v *healthView) finding {
	if failed := v.now.flags.SourceErrors - v.recent.flags.SourceErrors; failed > 0 {
		return finding{healthWarn, []message{say("definitions_unread", values{"failed": failed})}, "store_check"}
	}
	if v.source == nil {
		return good("definitions_store", nil)
	}
	status := v.source.Status()
	for i := range status {
		switch f := &status[i]; {
		case f.Err != nil:
			return finding{healthWarn, []message{say("definitions_file", values{"path": f.Path, "error": f.Err.Error()})}, "definitions_check"}
		case len(f.Faults) > 0:
			return finding{healthWarn, []message{say("definitions_faults", values{"path": f.Path, "faults": len(f.Faults), "error": fmt.Sprint(f.Faults[0])})}, "definitions_check"}
		}
	}
	files := say("definitions_files", values{"files": len(status)})
	if v.store == nil {
		return finding{details: []message{files}}
	}
	return finding{details: []message{say("definitions_store", nil), files}}
}

// streamHealth checks how long events wait in the stream, and for dead letters.
func streamHealth(_ context.Context, v *healthView) finding {
	s := v.stream.Stats()
	f := good("stream_waiting", values{"waiting": s.Waiting, "oldest_seconds": s.Oldest})
	switch {
	case s.Oldest >= hopelessLag:
		f.state, f.advice = healthBad, "stream_stuck"
	case s.Oldest >= longLag:
		f.state, f.advice = healthWarn, "stream_slow"
	case s.DeadLetters > 0:
		f.state, f.advice = healthWarn, "stream_requeue"
		f.details = append(f.details, say("stream_dead", values{"dead": s.DeadLetters}))
	}
	return f
}

// mailHealth checks how long mails wait.
func mailHealth(ctx context.Context, v *healthView) finding {
	if v.mailQueued == nil {
		return good("mail_off", nil)
	}
	waiting, oldest, err := v.rooms.Organizations.Mails.Backlog(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case waiting > 0 && time.Since(oldest) > lateMail:
		return finding{healthWarn, []message{say("mail_late", values{"waiting": waiting, "since": oldest})}, "mail_refused"}
	}
	return good("mail_waiting", values{"waiting": waiting})
}

// exportsHealth checks for batch exports that failed in their last run.
func exportsHealth(ctx context.Context, v *healthView) finding {
	failing, total, err := v.rooms.BatchExports.Failing(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case len(failing) > 0:
		return finding{healthWarn, []message{say("exports_failing", values{"failing": len(failing), "total": total, "names": failing[:min(len(failing), 5)]})}, "exports_check"}
	}
	return good("exports_good", values{"total": total})
}

// scheduleHealth checks for scheduled changes that are overdue.
func scheduleHealth(ctx context.Context, v *healthView) finding {
	n, err := v.rooms.Changes.Scheduled.Overdue(ctx, lateSchedule)
	switch {
	case err != nil:
		return storeProblem(err)
	case n > 0:
		return finding{healthBad, []message{say("changes_overdue", values{"overdue": n})}, "see_log"}
	}
	return good("changes_none", nil)
}

// lateRollout is the age of a due evaluation, and lateWebhook that of a webhook, from which the
// health check warns.
const (
	lateRollout = 5 * time.Minute
	lateWebhook = 15 * time.Minute
)

// rolloutsHealth checks for guarded rollouts that cannot be evaluated, or not in time.
func rolloutsHealth(ctx context.Context, v *healthView) finding {
	w, err := v.rooms.Rollouts.Watched(ctx)
	if err != nil {
		return storeProblem(err)
	}
	live := 0
	for _, n := range w.Live {
		live += n
	}
	switch {
	case v.queries == nil:
		return good("rollouts_off", nil)
	case w.FailingCount > 0:
		f := finding{healthWarn, []message{say("rollouts_failing", values{"failing": w.FailingCount})}, "rollouts_pause"}
		for _, r := range w.Failing {
			f.details = append(f.details, say("rollout_failing", values{"rollout": r.ID, "project": r.Project, "since": r.Since, "error": r.Reason}))
		}
		return f
	case w.Lag > lateRollout:
		return finding{healthWarn, []message{say("rollouts_late", values{"late_seconds": w.Lag})}, "rollouts_slow"}
	}
	return good("rollouts_watched", values{"live": live})
}

// webhooksHealth checks how long webhooks wait.
func webhooksHealth(ctx context.Context, v *healthView) finding {
	waiting, oldest, err := v.rooms.Organizations.Webhooks.Backlog(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case waiting > 0 && time.Since(oldest) > lateWebhook:
		return finding{healthWarn, []message{say("webhooks_late", values{"waiting": waiting, "since": oldest})}, "webhooks_refused"}
	}
	return good("webhooks_waiting", values{"waiting": waiting})
}

// certificateHealth checks when the certificate expires.
func certificateHealth(_ context.Context, v *healthView) finding {
	pair, advice := v.server.certificate.now.Load(), "certificate_renew"
	var failure []message
	if issuer := v.server.certificate.issuer; issuer != nil {
		advice = "certificate_obtain"
		if err := issuer.Failure(); err != nil {
			failure, advice = []message{say("certificate_failed", values{"error": err.Error()})}, "certificate_retried"
		}
	}
	if pair == nil {
		return finding{healthBad, append([]message{say("certificate_none", nil)}, failure...), advice}
	}
	leaf := pair.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return finding{healthBad, []message{say("certificate_unreadable", values{"error": err.Error()})}, "certificate_replace"}
		}
	}
	f := finding{details: append([]message{say("certificate_until", values{"until": leaf.NotAfter})}, failure...)}
	// A certificate may be issued for a few days only.
	remaining, life := leaf.NotAfter.Sub(v.now.at), leaf.NotAfter.Sub(leaf.NotBefore)
	switch {
	case remaining < min(certificateNow, life/10):
		f.state, f.advice = healthBad, advice
	case remaining < min(certificateSoon, life/4):
		f.state, f.advice = healthWarn, advice
	}
	return f
}

// clockHealth checks whether the clock was set since the start. Conditions with dates and the
// timestamps of events depend on it.
func clockHealth(_ context.Context, v *healthView) finding {
	return clockBetween(v.began, v.now.at, v.now.at.Sub(v.began))
}

// clockBetween compares the wall clock at two times with the elapsed time between them.
func clockBetween(from, to time.Time, apart time.Duration) finding {
	moved := to.Round(0).Sub(from.Round(0)) - apart
	if moved.Abs() < clockMoved {
		return good("clock_steady", nil)
	}
	return finding{healthWarn, []message{say("clock_moved", values{"moved_seconds": moved})}, "clock_check"}
}
