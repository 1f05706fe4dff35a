// Package exports writes batch exports where they are to go (management §4.3.2,
// decision 23): files below a folder, any S3 endpoint, PostgreSQL, and HTTP.
//
// A run streams: whatever its size, in memory are one row, one group of rows of
// Parquet ([groupBytes]) and one part of an upload ([uploadPart]). Every
// connection is checked after names have been resolved, also behind redirects:
// addresses that are not public are refused unless Config.Allowed has them.
//
// Errors that another attempt does not mend are *management.ExportRefused. No
// error has a secret of its destination in it.
package exports

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// The types of destinations (§4.3.2, decision 23).
const (
	typeFiles    = "Files"
	typeS3       = "S3"
	typePostgres = "Postgres"
	typeHTTP     = "HTTP"
)

// DefaultTimeout is Config.Timeout where that is zero.
const DefaultTimeout = 2 * time.Minute

// testTimeout bounds a step of a test, connecting included.
const testTimeout = 30 * time.Second

// Config says what exports may reach. The zero value reaches public addresses.
type Config struct {
	// Folder is where destinations of type Files write. Empty: they are refused.
	Folder string
	// Allowed are networks that may be reached although they are not public
	// (loopback, private, link-local). Those of all zero bits allow every address.
	Allowed []netip.Prefix
	// Timeout bounds connecting, and how long an S3 or HTTP server may be silent.
	// DefaultTimeout when zero.
	Timeout time.Duration
	// RootCAs sign the certificates of destinations. Nil: the system's.
	RootCAs *x509.CertPool
}

// Runner writes exports. It may be used by many goroutines.
type Runner struct {
	Config
	guard guard
}

// New makes a runner.
func New(c Config) *Runner {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return &Runner{c, guard{c.Allowed, c.Timeout}}
}

var _ batchexports.Runner = (*Runner)(nil)

// destination is one that is open. It is used by one goroutine.
type destination interface {
	// run writes all rows.
	run(ctx context.Context, rows *rows) (batchexports.Done, error)
	// steps are the steps of the test, in the order of Runner.Steps.
	steps() []func(context.Context) error
	// needs are the settings that a run, or a test, cannot do without: names and values.
	needs(test bool) []string
	// secrets are the texts that no error may have in it.
	secrets() []string
	// explain says what an error of run or a step means to people, and whether it
	// lasts.
	explain(err error) error
	close()
}

func (r *Runner) open(d batchexports.ExportDestination) (destination, error) {
	switch d.Type {
	case typeFiles:
		return r.openFiles(d)
	case typeS3:
		return r.openS3(d)
	case typePostgres:
		return r.openPostgres(d)
	case typeHTTP:
		return r.openHTTP(d)
	}
	return nil, refused("There are no exports to %q.", d.Type)
}

// Run writes a job whole. A run that is repeated replaces what it has left.
func (r *Runner) Run(ctx context.Context, job *batchexports.Job) (batchexports.Done, error) {
	d, err := r.open(job.Destination)
	if err != nil {
		return batchexports.Done{}, err
	}
	defer d.close()
	if err := need(d.needs(false)); err != nil {
		return batchexports.Done{}, err
	}
	seen := map[string]bool{}
	for _, c := range job.Columns {
		if seen[c.Name] {
			return batchexports.Done{}, refused("The export has two columns %q.", c.Name)
		}
		seen[c.Name] = true
	}
	rows := &rows{job: job}
	done, err := d.run(ctx, rows)
	switch {
	case err == nil:
		return done, nil
	case ctx.Err() != nil:
		return batchexports.Done{}, ctx.Err()
	case rows.err != nil: // not of the destination
		return batchexports.Done{}, rows.err
	}
	return batchexports.Done{}, withoutSecrets(d, err)
}

// Test does one step of the test of a destination.
func (r *Runner) Test(ctx context.Context, destination batchexports.ExportDestination, step int) error {
	d, err := r.open(destination)
	if err != nil {
		return err
	}
	defer d.close()
	steps := d.steps()
	switch {
	case step < 0 || step >= len(steps):
		return refused("There is no such step.")
	case need(d.needs(true)) != nil:
		return refused("The test step cannot run as it's not configured.")
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	if err := steps[step](ctx); err != nil {
		err = withoutSecrets(d, err)
		if isRefused(err) {
			return err
		}
		return refused("The test step failed with an unknown error: %v.", err)
	}
	return nil
}

// rows are a job's rows. They keep an error of their own apart from those of the
// destination.
type rows struct {
	job *batchexports.Job
	err error
}

// each calls do for every row until it fails.
func (r *rows) each(ctx context.Context, do func([]any) error) error {
	var failed error
	err := r.job.Rows(ctx, func(row []any) error {
		if len(row) != len(r.job.Columns) {
			return fmt.Errorf("a row has %d values, want %d", len(row), len(r.job.Columns))
		}
		failed = do(row)
		return failed
	})
	if failed != nil {
		return failed
	}
	r.err = err
	return err
}
