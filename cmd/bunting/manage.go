package main

import (
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openManagement makes what people manage.
func (s *server) openManagement() (err error) {
	c := rooms.Config{
		Store:  sqlstore.ManagementStore{Store: s.store},
		People: sqlstore.ManagementStore{Store: s.store},
		Events: sqlstore.ManagementStore{Store: s.store},

		ExportRows: sqlstore.ExportStore{Store: s.store}, ExportRunner: s.exportRunner(),
		JobDone: s.jobs.managed,
	}
	if err := s.openMail(&c); err != nil {
		return err
	}
	s.manager, err = rooms.Open(c)
	return err
}
