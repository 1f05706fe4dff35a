package remote

import (
	"context"

	"github.com/bunting-flags/bunting/flags"
)

// Source keeps the definitions of one project. It is safe for any number of
// goroutines; reading takes no lock.
type Source struct{}

// Status says what a Source has.
type Status struct{}

// Open starts a Source. It answers from the copy on disk, or the bundle, before it
// returns.
func Open(c Config) (*Source, error) { panic("not built yet") }

// Set is the project's flags as they are known now, nil while nothing is.
func (s *Source) Set() *flags.Set { panic("not built yet") }

// OnChange calls f after each change of the flags, from one goroutine of the Source.
// It returns what ends that.
func (s *Source) OnChange(f func(Status)) (stop func()) { panic("not built yet") }

// Status says what is known and how the last attempt ended.
func (s *Source) Status() Status { panic("not built yet") }

// WaitForReady waits until there are definitions, or the context ends.
func (s *Source) WaitForReady(ctx context.Context) error { panic("not built yet") }

// ProjectByKey implements flags.Source.
func (s *Source) ProjectByKey(ctx context.Context, apiKey string) (flags.Project, error) {
	panic("not built yet")
}

// Definitions implements flags.Source.
func (s *Source) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	panic("not built yet")
}

// Close ends the Source's goroutines and waits for them.
func (s *Source) Close() error { panic("not built yet") }

var _ flags.Source = (*Source)(nil)
