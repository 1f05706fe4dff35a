// Command unittest prints a price that depends on flags. Its test sets the flags.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/bunting-flags/bunting/flags"
)

// price returns the price in cents.
func price(ctx context.Context, reader flags.Reader, user *flags.Subject) float64 {
	if !reader.Bool(ctx, "sale", user, false) {
		return 1000
	}
	return 1000 * (1 - reader.Number(ctx, "sale-share", user, 0.1))
}

func main() {
	file, err := flags.Open("testdata/demo.json")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price(context.Background(), file, &flags.Subject{DistinctID: "ana"}))
	_ = file.Close()
}
