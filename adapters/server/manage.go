package server

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/adapters/passkeys"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openManagement makes what people manage.
func (p *parts) openManagement() (err error) {
	c := rooms.Config{
		Store:  sqlstore.ManagementStore{Store: p.store},
		People: sqlstore.ManagementStore{Store: p.store},
		Events: sqlstore.ManagementStore{Store: p.store},

		JobDone: p.jobs.managed,
		Ask: func(ctx context.Context, project *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			return p.handler.Ask(ctx, project, query)
		},
		Measure: func(ctx context.Context, project *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			return p.handler.Measure(ctx, project, query)
		},
	}
	if p.SignIn != nil {
		c.Authenticators = passkeys.Authenticators{}
		c.SessionIdle, c.SessionLife = p.SignIn.Idle, p.SignIn.Life
	}
	if !p.Without.has(Exports) {
		c.ExportRows, c.ExportRunner = sqlstore.ExportStore{Store: p.store}, p.exportRunner()
	}
	if err := p.openMail(&c); err != nil {
		return err
	}
	if p.manager, err = rooms.Open(c); err != nil {
		return err
	}
	p.serveRooms(p.manager)
	return nil
}
