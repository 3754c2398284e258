package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// versions compares two server binaries by the same calls, sample by sample: what
// one pair of samples shows is the machine's mood, the middle of many pairs is
// not. Who goes first changes from round to round. Each binary makes its data
// itself, so one may be older than the other.
func versions(ctx context.Context, s settings) (string, error) {
	if s.other == "" {
		return "", errors.New("say which binary to compare with: -other")
	}
	var rigs []rig
	for _, binary := range []string{s.server, s.other} {
		b, err := prepareBy(ctx, binary, "")
		if err != nil {
			return "", err
		}
		defer b.close()
		if err := b.run(ctx, binary, "fsync"); err != nil {
			return "", err
		}
		leave, id, err := b.connectAgent(ctx)
		if err != nil {
			return "", err
		}
		defer leave()
		rigs = append(rigs, rig{binary, b.callTarget(id), b.process})
	}
	return comparePairs(ctx, s, rigs)
}

// comparePairs loads two servers in turn, and returns how the first stands against
// the second.
func comparePairs(ctx context.Context, s settings, rigs []rig) (string, error) {
	conns := []int{64, 512}
	d := time.Duration(s.seconds * float64(time.Second))
	rates, costs := map[int][]float64{}, map[int][]float64{}
	for round := -1; round < s.rounds; round++ { // the first one warms up
		for _, n := range conns {
			var pair [2]sample
			for i := range rigs {
				side := (i + round&1) % 2
				x, err := load(ctx, rigs[side].target, n, d, rigs[side].server)
				if err != nil {
					return "", fmt.Errorf("%s at %d connections: %w\n%s", rigs[side].name, n, err, rigs[side].server.log.String())
				}
				pair[side] = x
			}
			if round >= 0 {
				rates[n] = append(rates[n], pair[0].perSecond()/pair[1].perSecond())
				costs[n] = append(costs[n], float64(pair[0].cpu)/float64(pair[1].cpu))
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| connections | calls/s against the other, middle of %d pairs (quarters) | server CPU per call |\n|---:|---:|---:|\n", s.rounds)
	for _, n := range conns {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", n, quarters(rates[n]), quarters(costs[n]))
	}
	return b.String(), nil
}

func quarters(x []float64) string {
	slices.Sort(x)
	return fmt.Sprintf("%.3f (%.3f to %.3f)", x[len(x)/2], x[len(x)/4], x[len(x)*3/4])
}
