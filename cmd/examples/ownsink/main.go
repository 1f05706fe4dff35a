// Command ownsink captures the events of PostHog's SDKs with an appender of its own, which prints
// them.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture"
)

func main() {
	handler, err := newHandler(printed)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8000", handler))
}

func newHandler(sink capture.AppenderFunc) (http.Handler, error) {
	// setup
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: capture.StaticKeys(capture.Project{ID: 1, APIKey: "phc_example"}), Appender: sink})
	if err != nil {
		return nil, err
	}
	return httpapi.New(httpapi.Config{Intake: intake})
	// end of setup
}

// printed is the appender. If it returns an error, SDKs send the events again.
func printed(_ context.Context, b *capture.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		fmt.Println(e.Timestamp.Format("15:04:05"), e.DistinctID, e.Name, e.Properties)
	}
	return nil
}
