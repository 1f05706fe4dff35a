package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/rooms"
)

// dyingStore stops writing when its server has died.
type dyingStore struct {
	rooms.Store
	dead *atomic.Bool
}

var errDead = errors.New("the server is dead")

func (s dyingStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Store.Write(ctx, work)
}

// dyingRunner kills its server before or after it has written.
type dyingRunner struct {
	batchexports.Runner
	dead   *atomic.Bool
	before bool
	jobs   []string
}

func (r *dyingRunner) Run(ctx context.Context, job *batchexports.Job) (done batchexports.RunTotals, err error) {
	r.jobs = append(r.jobs, job.Run)
	if !r.before {
		done, err = r.Runner.Run(ctx, job)
	}
	r.dead.Store(true)
	return done, err
}

// If a server is killed at any point of a run, another one repeats the run after the lease has
// expired: without gaps and without duplicates.
func TestBatchExport_Kill(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("before writing %v", before), func(t *testing.T) {
			o := newOffice(t, "sqlite::memory:")
			export := o.export(t, "a", "events", "hour", "")
			o.capture(t, noon.Add(time.Minute), event("first", "u", noon, ""))
			o.capture(t, noon.Add(61*time.Minute), event("second", "u", noon, ""))
			runner := &dyingRunner{Runner: exports.New(exports.Config{Folder: o.folder}), dead: &atomic.Bool{}, before: before}
			restarted, err := rooms.Open(rooms.Config{
				Store: dyingStore{o.store.Management(), runner.dead}, Now: o.now,
				ExportRows: o.store.Exports(), ExportRunner: runner,
			})
			if err != nil {
				t.Fatal(err)
			}
			o.clock.Store(noon.Add(121 * time.Minute).UnixMicro())
			if _, err := restarted.BatchExports.Work(context.Background()); !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			o.work(t)
			differ(t, "while the lease holds", []string{"12:00 Running -1"}, o.runs(t, export))
			o.clock.Add((61 * time.Second).Microseconds())
			o.work(t)
			differ(t, "afterwards", []string{"13:00 Completed 1", "12:00 Completed 1"}, o.runs(t, export))
			differ(t, "events", map[string][]string{
				"20260101T120000Z-20260101T130000Z": {"first"}, "20260101T130000Z-20260101T140000Z": {"second"},
			}, column(o.rows(t, "a"), "event"))
		})
	}
}

// scriptedRunner fails as its function specifies.
type scriptedRunner struct {
	batchexports.Runner
	run func(ctx context.Context, job *batchexports.Job) error
}

func (r scriptedRunner) Run(ctx context.Context, job *batchexports.Job) (batchexports.RunTotals, error) {
	if err := r.run(ctx, job); err != nil {
		return batchexports.RunTotals{}, err
	}
	return r.Runner.Run(ctx, job)
}

func (o *office) scripted(t *testing.T, run func(context.Context, *batchexports.Job) error) *rooms.Rooms {
	t.Helper()
	s, err := rooms.Open(rooms.Config{
		Store: o.store.Management(), Now: o.now, ExportRows: o.store.Exports(), ExportWatch: time.Millisecond,
		ExportRunner: scriptedRunner{exports.New(exports.Config{Folder: o.folder}), run},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Failed runs are retried with increasing pauses, up to a limit; permanent failures are not
// retried. The schedule continues, and a run can be repeated.
func TestBatchExport_Failures(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "events", "hour", "")
	o.capture(t, noon.Add(time.Minute), event("first", "u", noon, ""))
	attempts, refuse := 0, false
	s := o.scripted(t, func(_ context.Context, job *batchexports.Job) error {
		if job.From.Equal(noon) {
			attempts++
			return errors.New("the disk is full")
		}
		if refuse {
			return &batchexports.PermanentError{Reason: "the folder is gone"}
		}
		return nil
	})
	ctx := context.Background()
	o.clock.Store(noon.Add(61 * time.Minute).UnixMicro())
	var pauses []time.Duration
	last := o.now()
	for attempts < 10 {
		before := attempts
		if _, err := s.BatchExports.Work(ctx); err != nil {
			t.Fatal(err)
		}
		if attempts > before {
			pauses = append(pauses, o.now().Sub(last))
			last = o.now()
		}
		o.clock.Add(time.Second.Microseconds())
	}
	differ(t, "pauses", []time.Duration{
		0, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute,
	}, pauses)
	differ(t, "given up", []string{"12:00 FailedRetryable -1"}, o.runs(t, export))
	refuse = true
	o.clock.Store(noon.Add(121 * time.Minute).UnixMicro())
	if _, err := s.BatchExports.Work(ctx); err != nil {
		t.Fatal(err)
	}
	differ(t, "refused", []string{"13:00 Failed -1", "12:00 FailedRetryable -1"}, o.runs(t, export))
	differ(t, "the error", "", o.compare(`{"...": 1, "results": [{"...": 1, "latest_error": "the folder is gone"}, {"...": 1, "latest_error": "the disk is full"}]}`, o.do(t, "GET "+export+"/runs/", "", 200)))

	id, _ := dig(o.do(t, "GET "+export+"/runs/?status=FailedRetryable", "", 200), "results.0.id")
	o.do(t, "POST "+export+"/runs/"+id+"/retry/", "", 200)
	o.work(t)
	differ(t, "repeated", []string{"12:00 Completed 1", "13:00 Failed -1", "12:00 FailedRetryable -1"}, o.runs(t, export))
	differ(t, "events", map[string][]string{"20260101T120000Z-20260101T130000Z": {"first"}}, column(o.rows(t, "a"), "event"))
}

// A run that is cancelled while it is running ends, and the next one starts.
func TestBatchExport_Cancel(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "events", "hour", "")
	s := o.scripted(t, func(ctx context.Context, job *batchexports.Job) error {
		if !job.From.Equal(noon) {
			return nil
		}
		id, _ := dig(o.do(t, "GET "+export+"/runs/", "", 200), "results.0.id")
		differ(t, "the answer", "", o.compare(`{"cancelled": true}`, o.do(t, "POST "+export+"/runs/"+id+"/cancel/", "", 200)))
		<-ctx.Done()
		return ctx.Err()
	})
	o.clock.Store(noon.Add(121 * time.Minute).UnixMicro())
	for range 2 {
		if _, err := s.BatchExports.Work(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	differ(t, "runs", []string{"13:00 Completed 0", "12:00 Cancelled -1"}, o.runs(t, export))
}

// A server that stops during a run releases the lease immediately.
func TestBatchExport_Stop(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "events", "hour", "")
	ctx, stop := context.WithCancel(context.Background())
	s := o.scripted(t, func(ctx context.Context, _ *batchexports.Job) error {
		stop()
		<-ctx.Done()
		return ctx.Err()
	})
	o.clock.Store(noon.Add(61 * time.Minute).UnixMicro())
	ticks, done := make(chan time.Time, 1), make(chan struct{})
	ticks <- o.now()
	go func() {
		defer close(done)
		s.BatchExports.RunExports(ctx, ticks, func(err error) { t.Error(err) })
	}()
	<-done
	differ(t, "when it has ended", []string{"12:00 Running -1"}, o.runs(t, export))
	o.work(t)
	differ(t, "afterwards", []string{"12:00 Completed 0"}, o.runs(t, export))
}
