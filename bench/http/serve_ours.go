package main

import (
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/bench"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// serveOurs serves a project of n mixed flags from memory.
func serveOurs(n int) error {
	defs, err := flags.ParseDefinitions(bench.Definitions(bench.Mixed(n)))
	if err != nil {
		return err
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource(apiKey, flags.Project{ID: 1}, defs)})
	if err != nil {
		return err
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider})
	if err != nil {
		return err
	}
	return serve(handler)
}
