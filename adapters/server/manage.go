package server

import (
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openManagement makes what people manage.
func (p *parts) openManagement() (err error) {
	c := rooms.Config{
		Store:  sqlstore.ManagementStore{Store: p.store},
		People: sqlstore.ManagementStore{Store: p.store},
		Events: sqlstore.ManagementStore{Store: p.store},

		ExportRows: sqlstore.ExportStore{Store: p.store}, ExportRunner: p.exportRunner(),
		JobDone: p.jobs.managed,
	}
	if err := p.openMail(&c); err != nil {
		return err
	}
	p.manager, err = rooms.Open(c)
	return err
}
