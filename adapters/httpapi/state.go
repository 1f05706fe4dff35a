package httpapi

import (
	"context"
	"io"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/manage"
	"github.com/bunting-flags/bunting/management"
)

// Backup is a consistent copy of everything that the server stores.
type Backup struct {
	// Name is the suggested file name. Size is the length of the copy in bytes.
	Name string
	Size int64
	// Copy writes the copy to w. Close releases its resources and must be called after use.
	Copy  func(ctx context.Context, w io.Writer) error
	Close func() error
}

// backupsOf returns the finder of backups for Config.Backup.
func backupsOf(find func(context.Context) (*Backup, error)) manage.Backups {
	if find == nil {
		return nil
	}
	return func(ctx context.Context) (*manage.Backup, error) {
		b, err := find(ctx)
		return (*manage.Backup)(b), err
	}
}

// Health is the state of a server (console.md N20).
type Health struct {
	// Status is the worst state of all checks.
	Status string        `json:"status"`
	Checks []HealthCheck `json:"checks"`
	// Build is the version of the program.
	Build string `json:"build"`
	// Rates are the counts of each minute of the last hour, the newest last: requests for flags,
	// accepted events, and responses with status 500 and above.
	Rates struct {
		Minutes []management.Stamp `json:"minutes"`
		Flags   []uint64           `json:"flags"`
		Events  []uint64           `json:"events"`
		Errors  []uint64           `json:"errors"`
	} `json:"rates"`
}

// HealthCheck is the result of one check.
type HealthCheck struct {
	Name string `json:"name"`
	// State is ok, warn or bad.
	State string `json:"state"`
	// Detail is in English. Messages are its parts for other languages: the code of a text, and what
	// is inserted in it.
	Detail   string `json:"detail"`
	Messages []struct {
		Code   string         `json:"code"`
		Values map[string]any `json:"values"`
	} `json:"messages"`
	// Since is when the state was first observed, at the earliest when the server started.
	Since management.Stamp `json:"since"`
	// Advice is what an operator should do, empty if there is no need to act. AdviceCode is the code
	// of this text.
	Advice     string `json:"advice"`
	AdviceCode string `json:"advice_code"`
}
