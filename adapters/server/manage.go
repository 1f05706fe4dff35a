package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/adapters/internal/oidc"
	"github.com/bunting-flags/bunting/adapters/internal/passkeys"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openManagement opens the packages of management.
func (p *parts) openManagement() (err error) {
	c := rooms.Config{
		Store:  p.store.Management(),
		People: p.store.Management(),
		Events: p.store.Management(),

		JobDone: p.jobs.countManaged,
		RunQuery: func(ctx context.Context, project *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			return p.handler.RunQuery(ctx, project, query)
		},
		Measure: func(ctx context.Context, project *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			return p.handler.Measure(ctx, project, query)
		},
	}
	c.RolloutInterval, c.RolloutSlowed = p.RolloutInterval, p.logSlowRollout
	c.Poster = exports.NewWebhooks(exports.Config{Allowed: p.ExportNetworks, Timeout: webhookTimeout})
	if p.stream != nil { // how far other servers have read the stream is not known here
		c.Lag = func(context.Context) (time.Duration, error) { return p.stream.Stats().Oldest, nil }
	}
	if p.SignIn != nil {
		c.Authenticators = passkeys.Authenticators{}
		c.SessionIdle, c.SessionLife = p.SignIn.Idle, p.SignIn.Life
		if err := openProvider(&c, p.SignIn.OIDC); err != nil {
			return err
		}
	}
	if !p.Without.has(Exports) {
		c.ExportRows, c.ExportRunner = p.store.Exports(), p.exportRunner()
	}
	if err := p.openMail(&c); err != nil {
		return err
	}
	p.traceCalls(&c)
	if p.manager, err = rooms.Open(c); err != nil {
		return err
	}
	p.serveRooms(p.manager)
	return nil
}

// openProvider configures a provider of OpenID Connect, unless o is zero.
func openProvider(c *rooms.Config, o OIDC) error {
	if o == (OIDC{}) {
		return nil
	}
	if o.Issuer == "" || o.ClientID == "" || o.ClientSecretFile == "" {
		return errors.New("Options.SignIn.OIDC.Issuer, Options.SignIn.OIDC.ClientID and Options.SignIn.OIDC.ClientSecretFile are needed together")
	}
	secret, err := os.ReadFile(o.ClientSecretFile)
	if err != nil {
		return fmt.Errorf("Options.SignIn.OIDC.ClientSecretFile: %w", err)
	}
	p, err := oidc.New(oidc.Config{Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: string(bytes.TrimSpace(secret)), Name: o.Name})
	if err != nil {
		return fmt.Errorf("Options.SignIn.OIDC.Issuer: %w", err)
	}
	c.Provider = p
	return nil
}
