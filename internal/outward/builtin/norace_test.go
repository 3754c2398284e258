//go:build !race

package builtin_test

const raceDetector = false
