package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
)

// finding is the result of a check; an empty state means healthOK.
type finding struct{ state, detail, advice string }

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
	return finding{healthBad, "The store does not respond: " + err.Error(), "Check that the database is running and can be reached from this server."}
}

// storageHealth checks that the store responds and the disk has space.
func storageHealth(ctx context.Context, v *healthView) finding {
	if _, err := v.projects(ctx); err != nil {
		return storeProblem(err)
	}
	size := v.store.Size(ctx)
	detail := []string{"size not known"}
	if size.Database >= 0 {
		detail[0] = bytesText(size.Database)
	}
	if size.WAL > 0 {
		detail = append(detail, bytesText(size.WAL)+" in the write-ahead log")
	}
	if size.Free < 0 {
		return finding{"", strings.Join(detail, ", "), ""}
	}
	f := finding{"", strings.Join(append(detail, bytesText(size.Free)+" free"), ", "), ""}
	switch {
	case size.Free < noDisk:
		f.state, f.advice = healthBad, "Free space on the disk of the data folder now: without it no more events are accepted."
	case size.Free < littleDisk:
		f.state, f.advice = healthWarn, "Free space on the disk of the data folder, or keep events for fewer days."
	}
	return f
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

// commitHealth checks how long accepted events wait until they are stored.
func commitHealth(_ context.Context, v *healthView) finding {
	commits := v.now.recorder.Commits - v.recent.recorder.Commits
	if commits == 0 {
		return finding{"", "Nothing was stored in the last minutes.", ""}
	}
	mean := (v.now.recorder.CommitTime - v.recent.recorder.CommitTime) / time.Duration(commits)
	f := finding{"", fmt.Sprintf("%.1f ms on average in the last minutes", mean.Seconds()*1000), ""}
	switch {
	case mean >= hangCommit:
		f.state = healthBad
	case mean >= slowCommit:
		f.state = healthWarn
	}
	if f.state != "" {
		f.advice = "The disk or the database is slow: check what else uses it."
	}
	return f
}

// intakeHealth checks how many events wait, could not be stored, and were dropped.
func intakeHealth(_ context.Context, v *healthView) finding {
	now, before := &v.now.recorder, &v.recent.recorder
	failed, rejected := now.Failures-before.Failures, now.Rejected-before.Rejected+now.TimedOut-before.TimedOut
	detail := fmt.Sprintf("%d waiting, %s", now.Waiting, droppedText(v))
	switch {
	case failed > 0 && now.Commits == before.Commits:
		return finding{healthBad, fmt.Sprintf("No event can be stored: %d tries have failed in the last minutes; %s", failed, detail), "Senders try again. See the log for the reason, and whether the disk is full."}
	case failed+rejected > 0:
		return finding{healthWarn, fmt.Sprintf("%d tries to store events have failed and %d requests were refused for now in the last minutes; %s", failed, rejected, detail), "Senders try again. Events arrive faster than the store can write them, or some writes fail: see the log."}
	}
	return finding{"", detail, ""}
}

// droppedText returns the events dropped in the last hour by reason, the most frequent first.
func droppedText(v *healthView) string {
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
		return "nothing dropped in the last hour"
	}
	slices.SortFunc(list, func(a, b count) int {
		if a.n != b.n {
			return int(b.n) - int(a.n)
		}
		return strings.Compare(a.reason, b.reason)
	})
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s %d", c.reason, c.n)
	}
	return fmt.Sprintf("%d dropped in the last hour (%s)", sum, strings.Join(parts, ", "))
}

// definitionsHealth checks that the definitions can be read from the store and the files.
func definitionsHealth(_ context.Context, v *healthView) finding {
	if failed := v.now.flags.SourceErrors - v.recent.flags.SourceErrors; failed > 0 {
		return finding{healthWarn, fmt.Sprintf("Definitions could not be read %d times in the last minutes; flags are evaluated with the last valid ones.", failed), "Check that the database is running and can be reached from this server."}
	}
	detail := "from the store"
	if v.source == nil {
		return finding{"", detail, ""}
	}
	status := v.source.Status()
	if v.store == nil {
		detail = fmt.Sprintf("from %d files", len(status))
	} else {
		detail += fmt.Sprintf(" and %d files", len(status))
	}
	for i := range status {
		switch f := &status[i]; {
		case f.Err != nil:
			return finding{healthWarn, fmt.Sprintf("%s cannot be used, its last valid version stays in use: %v", f.Path, f.Err), "Correct the file; bunting check FILE shows what is wrong."}
		case len(f.Faults) > 0:
			return finding{healthWarn, fmt.Sprintf("%s has %d faults, the first is %v", f.Path, len(f.Faults), f.Faults[0]), "Correct the file; bunting check FILE shows what is wrong."}
		}
	}
	return finding{"", detail, ""}
}

// streamHealth checks how long events wait in the stream, and for dead letters.
func streamHealth(_ context.Context, v *healthView) finding {
	s := v.stream.Stats()
	f := finding{"", fmt.Sprintf("%d messages wait, the oldest for %s", s.Waiting, s.Oldest.Round(time.Second)), ""}
	switch {
	case s.Oldest >= hopelessLag:
		f.state, f.advice = healthBad, "Events wait in the stream and are not recorded: see the log."
	case s.Oldest >= longLag:
		f.state, f.advice = healthWarn, "Events come in faster than they are recorded: see how long commits take."
	case s.DeadLetters > 0:
		f.state, f.advice = healthWarn, "bunting deadletters lists what could not be recorded, and can requeue it."
		f.detail += fmt.Sprintf("; %d dead letters", s.DeadLetters)
	}
	return f
}

// mailHealth checks how long mails wait.
func mailHealth(ctx context.Context, v *healthView) finding {
	if v.mailQueued == nil {
		return finding{"", "No mails are sent: there is no mail server.", ""}
	}
	waiting, oldest, err := v.rooms.Organizations.Mails.Backlog(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case waiting > 0 && time.Since(oldest) > lateMail:
		return finding{healthWarn, fmt.Sprintf("%d mails wait, one since %s UTC", waiting, oldest.UTC().Format(time.DateTime)), "The mail server does not accept them: see the log for its response."}
	}
	return finding{"", fmt.Sprintf("%d mails wait", waiting), ""}
}

// exportsHealth checks for batch exports that failed in their last run.
func exportsHealth(ctx context.Context, v *healthView) finding {
	failing, total, err := v.rooms.BatchExports.Failing(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case len(failing) > 0:
		return finding{healthWarn, fmt.Sprintf("The last run failed for %d of %d exports: %s", len(failing), total, strings.Join(failing[:min(len(failing), 5)], ", ")), "See the log of the run, and test the destination."}
	}
	return finding{"", fmt.Sprintf("%d exports, none failed", total), ""}
}

// scheduleHealth checks for scheduled changes that are overdue.
func scheduleHealth(ctx context.Context, v *healthView) finding {
	n, err := v.rooms.Changes.Scheduled.Overdue(ctx, lateSchedule)
	switch {
	case err != nil:
		return storeProblem(err)
	case n > 0:
		return finding{healthBad, fmt.Sprintf("%d scheduled changes are overdue", n), "See the log for the reason."}
	}
	return finding{"", "none overdue", ""}
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
		return finding{"", "This server does not evaluate rollouts.", ""}
	case w.FailingCount > 0:
		list := make([]string, len(w.Failing))
		for i, f := range w.Failing {
			list[i] = fmt.Sprintf("rollout %d of project %d since %s: %s", f.ID, f.Project, f.Since.UTC().Format(time.DateTime), f.Reason)
		}
		return finding{healthWarn, fmt.Sprintf("%d rollouts cannot be evaluated: %s", w.FailingCount, strings.Join(list, "; ")), "Their metrics are not watched. See the log for the reason, and pause them or roll them back."}
	case w.Lag > lateRollout:
		return finding{healthWarn, fmt.Sprintf("Rollouts are evaluated late, by %s", w.Lag.Round(time.Second)), "Their metrics are not watched in time. See the log, and whether queries take long."}
	}
	return finding{"", fmt.Sprintf("rollouts watched: %d", live), ""}
}

// webhooksHealth checks how long webhooks wait.
func webhooksHealth(ctx context.Context, v *healthView) finding {
	waiting, oldest, err := v.rooms.Organizations.Webhooks.Backlog(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case waiting > 0 && time.Since(oldest) > lateWebhook:
		return finding{healthWarn, fmt.Sprintf("%d webhooks wait, one since %s", waiting, oldest.UTC().Format(time.DateTime)), "Their receiver does not accept them: see the log for its response."}
	}
	return finding{"", fmt.Sprintf("%d webhooks wait", waiting), ""}
}

// certificateHealth checks when the certificate expires.
func certificateHealth(_ context.Context, v *healthView) finding {
	pair, advice := v.server.certificate.now.Load(), "Renew the certificate: the file is read again when it changes."
	detail := ""
	if issuer := v.server.certificate.issuer; issuer != nil {
		advice = "The server obtains the certificate by itself: see the log."
		if err := issuer.Failure(); err != nil {
			detail, advice = "; the last attempt to obtain one has failed: "+err.Error(), "Correct the cause; the server tries again by itself."
		}
	}
	if pair == nil {
		return finding{healthBad, "There is no certificate yet" + detail, advice}
	}
	leaf := pair.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return finding{healthBad, "The certificate cannot be read: " + err.Error(), "Replace it."}
		}
	}
	f := finding{"", "good until " + leaf.NotAfter.UTC().Format(time.DateTime) + " UTC" + detail, ""}
	// A certificate may be issued for a few days only.
	remaining, life := leaf.NotAfter.Sub(v.now.at), leaf.NotAfter.Sub(leaf.NotBefore)
	switch {
	case remaining < min(certificateNow, life/10):
		f.state = healthBad
	case remaining < min(certificateSoon, life/4):
		f.state = healthWarn
	}
	if f.state != "" {
		f.advice = advice
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
		return finding{"", "steady", ""}
	}
	return finding{healthWarn, fmt.Sprintf("The clock was moved by %s since the start.", moved.Round(time.Second)), "Check that the machine's clock is synchronized (NTP)."}
}
