package bucket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// azure is a container of Azure Blob Storage.
type azure struct {
	*container.Client
	address string // "azblob://name"
}

// openAzure opens a container with the variables of the az program: a connection string,
// or an account and its key or a signature, or an account and the default credential
// (variables of a service principal, managed identity, az login).
func openAzure(name string) (Bucket, error) {
	c, err := azureClient(name)
	if err != nil {
		return nil, err
	}
	return &azure{c, "azblob://" + name}, nil
}

func azureClient(name string) (*container.Client, error) {
	o := &container.ClientOptions{ClientOptions: policy.ClientOptions{Retry: policy.RetryOptions{MaxRetries: retries}}}
	if text := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); text != "" {
		return container.NewClientFromConnectionString(text, name, o)
	}
	account := os.Getenv("AZURE_STORAGE_ACCOUNT")
	if account == "" {
		return nil, errors.New("set AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING")
	}
	service := cmp.Or(os.Getenv("AZURE_STORAGE_SERVICE_ENDPOINT"), "https://"+account+".blob.core.windows.net")
	address := strings.TrimSuffix(service, "/") + "/" + url.PathEscape(name)
	if key := os.Getenv("AZURE_STORAGE_KEY"); key != "" {
		shared, err := azblob.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, fmt.Errorf("AZURE_STORAGE_KEY: %w", err)
		}
		return container.NewClientWithSharedKeyCredential(address, shared, o)
	}
	if signature := os.Getenv("AZURE_STORAGE_SAS_TOKEN"); signature != "" {
		return container.NewClientWithNoCredential(address+"?"+strings.TrimPrefix(signature, "?"), o)
	}
	found, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(address, found, o)
}

// List implements Bucket.
func (b *azure) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for pages := b.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix}); pages.More(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(Object{}, b.error(prefix, err))
				return
			}
			for _, x := range page.Segment.BlobItems {
				if x.Name == nil || x.Properties == nil || x.Properties.ContentLength == nil || x.Properties.LastModified == nil {
					continue // of a kind without content
				}
				if !yield(Object{*x.Name, *x.Properties.ContentLength, *x.Properties.LastModified}, nil) {
					return
				}
			}
		}
	}
}

// Read implements Bucket. A connection that breaks is opened again where it ended.
func (b *azure) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.NewBlobClient(key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, b.error(key, err)
	}
	return r.NewRetryReader(ctx, nil), nil
}

// Write implements Bucket.
func (b *azure) Write(ctx context.Context, key string, content io.Reader, _ int64) error {
	_, err := b.NewBlockBlobClient(key).UploadStream(ctx, content, nil)
	return b.error(key, err)
}

// Create implements Bucket.
func (b *azure) Create(ctx context.Context, key string, content []byte) error {
	once := &blob.ModifiedAccessConditions{IfNoneMatch: new(azcore.ETagAny)}
	o := &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: once}}
	_, err := b.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), o)
	return b.error(key, err)
}

// Delete implements Bucket.
func (b *azure) Delete(ctx context.Context, key string) error {
	_, err := b.NewBlobClient(key).Delete(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return nil
	}
	return b.error(key, err)
}

// error names the object, and wraps the errors of the contract.
func (b *azure) error(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ContainerNotFound):
		return fmt.Errorf("%s/%s: %w", b.address, key, fs.ErrNotExist)
	case bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet):
		return fmt.Errorf("%s/%s: %w", b.address, key, fs.ErrExist)
	}
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok && answer.ErrorCode != "" { // its text has 20 lines
		return fmt.Errorf("%s/%s: the server answers %d %s", b.address, key, answer.StatusCode, answer.ErrorCode)
	}
	return fmt.Errorf("%s/%s: %w", b.address, key, err)
}
