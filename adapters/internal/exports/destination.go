package exports

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// testTimeout is the limit for one step of a test, including the connection.
const testTimeout = 30 * time.Second

// The types of destinations (§4.3.2, decision 23).
const (
	typeFiles    = "Files"
	typeS3       = "S3"
	typePostgres = "Postgres"
	typeHTTP     = "HTTP"
)

// DefaultTimeout is the default of Config.Timeout.
const DefaultTimeout = 2 * time.Minute

// Config determines which destinations exports may use. The zero value allows public addresses.
type Config struct {
	// Folder is where destinations of type Files write. If empty, they are rejected.
	Folder string
	// Allowed are networks that are allowed although they are not public (loopback, private,
	// link-local). A prefix of zero bits allows every address.
	Allowed []netip.Prefix
	// Timeout is the limit for connecting, and for the time without data from an S3 or HTTP server,
	// by default DefaultTimeout.
	Timeout time.Duration
	// RootCAs are the authorities for the certificates of destinations, by default the system's.
	RootCAs *x509.CertPool
}

// Runner writes exports. It is safe for concurrent use.
type Runner struct {
	Config
	guard guard
}

// destination is an open destination. One goroutine uses it.
type destination interface {
	// run writes all rows.
	run(ctx context.Context, rows *rows) (batchexports.RunTotals, error)
	// steps returns the steps of the test, in the order of Runner.Steps.
	steps() []func(context.Context) error
	// needs returns the settings that a run, or a test, requires: names and values in turn.
	needs(test bool) []string
	// secrets returns the strings that errors must not include.
	secrets() []string
	// explain converts an error of run or a step to a message for people. It is a PermanentError if
	// another attempt cannot succeed.
	explain(err error) error
	close()
}

// rows are a job's rows. err has an error of reading them, to distinguish it from errors of the
// destination.
type rows struct {
	job *batchexports.Job
	err error
}

// each calls do for every row and stops at its first error.
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
