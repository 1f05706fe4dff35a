package main

import (
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/management"
)

// openManagement makes what people manage.
func (s *server) openManagement() (err error) {
	s.manager, err = management.New(management.Config{
		Store: sqlstore.ManagementStore{Store: s.store},
	})
	return err
}
