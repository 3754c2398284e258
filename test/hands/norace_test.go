//go:build !race

package hands

const raceEnabled = false
