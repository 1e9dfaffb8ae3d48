package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gpushare/gpushare/mps"
)

type shareAnswer struct {
	Schema int `json:"schema"`
	mps.Split
}

// share computes what each client of a device may use, without a daemon.
func share(_ context.Context, inv *invocation, args []string) error {
	f := inv.splits()
	if err := inv.Parse(args); err != nil {
		return err
	}
	_, weights, s, err := f.split(inv)
	if err != nil {
		return err
	}
	return inv.Print(shareAnswer{schema, s}, func() string {
		name := s.Device
		if name == "" {
			name = "device"
		}
		rows := [][]string{{"CLIENT", "WEIGHT", "PERCENT", "SMS", "MEMORY"}}
		percents, sms := 0, 0
		for i, c := range s.Clients {
			rows = append(rows, []string{
				strconv.Itoa(i), strconv.Itoa(weights[i]), strconv.Itoa(c.Percent), strconv.Itoa(c.SMs), fmt.Sprintf("%dM", c.MemoryMiB),
			})
			percents, sms = percents+c.Percent, sms+c.SMs
		}
		left := fmt.Sprintf("stranded: %d SMs, %d MiB", s.StrandedSMs, s.StrandedMiB)
		if sms > s.SMs {
			left = fmt.Sprintf("shared: %d SMs are in the shares of %d", sms, s.SMs)
		}
		return fmt.Sprintf("%s: %d SMs, %d MiB, %s, %d %% in all\n\n%s\n%s\n",
			name, s.SMs, s.MemoryMiB, count(len(s.Clients), "client"), percents, table(rows...), left)
	})
}
