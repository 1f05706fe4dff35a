// Package exports writes batch exports to their destinations (management §4.3.2, decision 23):
// files below a folder, any S3 endpoint, PostgreSQL, and HTTP.
//
// A run streams: whatever its size, the memory has one row, one group of rows of Parquet
// ([groupBytes]) and one part of an upload ([uploadPart]). Every connection is checked after names
// have been resolved, also behind redirects: addresses that are not public are rejected unless
// Config.Allowed has them.
//
// Errors that another attempt cannot resolve are *batchexports.PermanentError. No error includes a
// secret of its destination.
package exports

import (
	"context"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// New returns a Runner.
func New(c Config) *Runner {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return &Runner{c, guard{allowed: c.Allowed, timeout: c.Timeout}}
}

var _ batchexports.Runner = (*Runner)(nil)

// open returns the destination with a configuration.
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
	return nil, rejectf("There are no exports to %q.", d.Type)
}

// Run writes all rows of a job. A repeated run replaces the output of the earlier one.
func (r *Runner) Run(ctx context.Context, job *batchexports.Job) (batchexports.RunTotals, error) {
	d, err := r.open(job.Destination)
	if err != nil {
		return batchexports.RunTotals{}, err
	}
	defer d.close()
	if err := requireSettings(d.needs(false)); err != nil {
		return batchexports.RunTotals{}, err
	}
	seen := map[string]bool{}
	for _, c := range job.Columns {
		if seen[c.Name] {
			return batchexports.RunTotals{}, rejectf("The export has two columns %q.", c.Name)
		}
		seen[c.Name] = true
	}
	rows := &rows{job: job}
	done, err := d.run(ctx, rows)
	switch {
	case err == nil:
		return done, nil
	case ctx.Err() != nil:
		return batchexports.RunTotals{}, ctx.Err()
	case rows.err != nil: // an error of the rows, not of the destination
		return batchexports.RunTotals{}, rows.err
	}
	return batchexports.RunTotals{}, withoutSecrets(d, err)
}

// Test executes one step of the test of a destination, by its index in Steps.
func (r *Runner) Test(ctx context.Context, destination batchexports.ExportDestination, step int) error {
	d, err := r.open(destination)
	if err != nil {
		return err
	}
	defer d.close()
	steps := d.steps()
	switch {
	case step < 0 || step >= len(steps):
		return rejectf("There is no such step.")
	case requireSettings(d.needs(true)) != nil:
		return rejectf("The test step cannot run as it's not configured.")
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	if err := steps[step](ctx); err != nil {
		err = withoutSecrets(d, err)
		if isRejected(err) {
			return err
		}
		return rejectf("The test step failed with an unknown error: %v.", err)
	}
	return nil
}
