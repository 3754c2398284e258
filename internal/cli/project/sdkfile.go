package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// findPackage is findSDK for languages whose SDK is one file: a release by its
// version, or a file that is copied into the project, which can then be moved and
// put into an image as a whole.
func findPackage(pattern, what, how string) func(context.Context, *facts, string, string) (map[string]string, error) {
	return func(_ context.Context, f *facts, _, sdk string) (map[string]string, error) {
		f.SDK = releaseVersion()
		if sdk == "" {
			return nil, nil
		}
		name := filepath.Base(sdk)
		if ok, err := filepath.Match(pattern, name); !ok || err != nil {
			return nil, fmt.Errorf("%s is not %s (%s): make one with %s", sdk, what, pattern, how)
		}
		content, err := os.ReadFile(sdk)
		if err != nil {
			return nil, fmt.Errorf("read the SDK: %w", err)
		}
		f.SDKFile = name
		return map[string]string{name: string(content)}, nil
	}
}
