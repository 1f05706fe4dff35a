package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// openStore opens the database and what records into it.
func (s *server) openStore(ctx context.Context) (err error) {
	if s.config.Database == "" {
		if s.config.Data == "" {
			return errors.New("--data is empty: name a folder, or a database with --database")
		}
		if err := makeFolder(s.config.Data); err != nil {
			return fmt.Errorf("--data: %w; choose a folder that this user may write to", err)
		}
	}
	if s.store, err = sqlstore.Open(ctx, s.config.DatabaseURL(), sqlstore.Config{Logger: s.log, Changed: s.renew}); err != nil {
		return err
	}
	s.recorder = capture.NewRecorder(capture.RecorderConfig{Ledger: s.store, OnFailure: s.storeFailed()})
	return nil
}

// storeFailed logs what the recorder meets, at most once a second: a store that
// fails does so for every request. The function is for one goroutine.
func (s *server) storeFailed() func(error) {
	var said time.Time
	unsaid := 0
	return func(err error) {
		if s.config.Stream.Url != "" && !errors.Is(err, capture.ErrIndexing) {
			return // nobody was told: the events wait in the stream, and streamFailed says so
		}
		if time.Since(said) < time.Second {
			unsaid++
			return
		}
		message := "events could not be stored; their senders were told to try again"
		if errors.Is(err, capture.ErrIndexing) {
			message = "stored events could not be indexed; it will be tried again"
		}
		s.log.Error(message, "error", err, "unsaid", unsaid)
		said, unsaid = time.Now(), 0
	}
}

// renew makes a change of definitions visible at once.
func (s *server) renew(projectID int64) {
	if d := s.deciding.Load(); d != nil {
		d.Renew(projectID)
	}
	if h := s.streaming(); h != nil {
		h.DefinitionsChanged(projectID)
	}
}

// openIntake makes what judges events.
func (s *server) openIntake() (err error) {
	c := capture.IntakeConfig{Keys: sqlstore.CaptureKeys{Store: s.store}, Into: s.recorder, Usage: s.store}
	if s.stream != nil {
		c.Into = s.stream
	}
	if s.geo != nil {
		c.Locator = s.geo
	}
	s.intake, err = capture.NewIntake(c)
	return err
}

// openDefinitions brings the definitions files into the store, or makes a first
// project where there is none at all. Files are watched until watching ends.
func (s *server) openDefinitions(ctx, watching context.Context) (err error) {
	if len(s.config.Definitions) == 0 {
		key, err := s.ownerKey()
		if err != nil {
			return err
		}
		made, err := s.store.Bootstrap(ctx, sqlstore.FirstStart{
			OwnerEmail: s.config.OwnerEmail, PersonalKey: key.text,
			Show: func(b *sqlstore.Bootstrapped) error { return key.show(b.PersonalKey) },
		})
		if err != nil {
			return err
		}
		s.first.Store(made != nil)
		return s.manager.Adopt(ctx, management.Adoption{Email: s.config.OwnerEmail})
	}
	s.source, err = filesource.Open(filesource.Config{
		Files: s.config.Definitions, APIKey: s.config.ApiKey, Logger: s.log,
		OnChange: func() {
			s.warnOfKeys()
			if err := s.applyFiles(watching); err != nil && watching.Err() == nil {
				s.log.Error("a changed definitions file is not taken into use, its last good state stays", "error", err)
			}
		},
	})
	if err != nil {
		return err
	}
	s.files.Store(s.source)
	return s.applyFiles(ctx)
}

// applyFiles makes the store say what the files say.
func (s *server) applyFiles(ctx context.Context) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	var problems []error
	for _, f := range s.source.Contents() {
		if err := s.store.ApplyFile(ctx, f.Path, f.File, f.Text); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.Path, err))
		}
	}
	problems = append(problems, s.adopt(ctx))
	return errors.Join(problems...)
}

// adopt gives the organizations of the files an owner, whose key is shown when it is
// made: at the first start.
func (s *server) adopt(ctx context.Context) error {
	return s.manager.Adopt(ctx, management.Adoption{Email: s.config.OwnerEmail, Key: func() (management.FirstKey, error) {
		key, err := s.ownerKey()
		return management.FirstKey{Text: key.text, Show: func(text string) error {
			err := key.show(text)
			s.first.Store(err == nil)
			return err
		}}, err
	}})
}

// retain deletes events that are older than --retain-events says, a piece at a
// time.
func (s *server) retain(ctx context.Context) {
	if s.config.RetainEvents == 0 {
		return
	}
	const pause, piece = time.Minute, 5000
	for gone := int64(0); ; {
		before := time.Now().AddDate(0, 0, -s.config.RetainEvents)
		n, err := s.store.DeleteEventsBefore(ctx, before, piece)
		gone += n
		wait := pause
		switch {
		case err != nil && ctx.Err() == nil:
			s.jobs.count(jobDeletions, err)
			s.log.Error("old events could not be deleted", "error", err)
		case n == piece:
			wait = 100 * time.Millisecond
		case err == nil:
			s.jobs.deleted(gone, before)
			gone = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// keys looks personal and secret keys up.
type keys struct{ store *sqlstore.Store }

func (k keys) Key(ctx context.Context, text string) (httpapi.Key, error) {
	found, err := k.store.Key(ctx, text)
	if errors.Is(err, sqlstore.ErrUnknownKey) {
		return httpapi.Key{}, httpapi.ErrUnknownKey
	}
	key := httpapi.Key{Secret: found.Kind == sqlstore.SecretKey, Scopes: found.Scopes}
	for _, p := range found.Projects {
		key.Projects = append(key.Projects, p.APIKey)
	}
	return key, err
}
