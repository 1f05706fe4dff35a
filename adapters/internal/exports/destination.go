package exports

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// testTimeout bounds a step of a test, connecting included.
const testTimeout = 30 * time.Second

// The types of destinations (§4.3.2, decision 23).
const (
	typeFiles    = "Files"
	typeS3       = "S3"
	typePostgres = "Postgres"
	typeHTTP     = "HTTP"
)

// DefaultTimeout is Config.Timeout where that is zero.
const DefaultTimeout = 2 * time.Minute

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

// destination is one that is open. It is used by one goroutine.
type destination interface {
	// run writes all rows.
	run(ctx context.Context, rows *rows) (batchexports.RunTotals, error)
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
