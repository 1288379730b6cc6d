package threaddump

import "github.com/dendroprof/dendro/profile"

// inNativeWait is the state of a thread that the VM calls RUNNABLE because it is
// in native code, which waits.
var inNativeWait = []byte("RUNNABLE (in native wait)")

// waitsInNative reports whether the innermost frame of a stack is a method in
// which threads wait for the network, for a child process or for work.
func (c *Collector) waitsInNative(stack profile.StackID) bool {
	if stack == profile.NoStack {
		return false
	}
	s := c.out.Profile.Symbols
	return nativeWaits[s.Functions[s.Frames[s.Leaf(stack)].Function].Name]
}

// nativeWaits are methods in which a thread is RUNNABLE and waits. Reads of files
// are not among them: they are work of a disk.
var nativeWaits = map[string]bool{
	// Selectors.
	"sun.nio.ch.EPoll.wait":                                         true,
	"sun.nio.ch.EPollArrayWrapper.epollWait":                        true, // JDK 8
	"sun.nio.ch.KQueue.poll":                                        true,
	"sun.nio.ch.KQueueArrayWrapper.kevent0":                         true, // JDK 8
	"sun.nio.ch.PollArrayWrapper.poll0":                             true,
	"sun.nio.ch.PollSelectorImpl.poll":                              true,
	"sun.nio.ch.DevPollArrayWrapper.poll0":                          true,
	"sun.nio.ch.WEPoll.wait":                                        true,
	"sun.nio.ch.WindowsSelectorImpl$SubSelector.poll0":              true,
	"sun.nio.ch.Iocp.getQueuedCompletionStatus":                     true,
	"sun.nio.ch.EventPort.port_getn":                                true,
	"sun.nio.ch.Net.poll":                                           true,
	"io.netty.channel.epoll.Native.epollWait":                       true,
	"io.netty.channel.epoll.Native.epollWait0":                      true,
	"io.netty.channel.kqueue.Native.keventWait":                     true,
	"io.netty.channel.uring.Native.ioUringEnter":                    true,
	"org.apache.tomcat.jni.Poll.poll":                               true,
	"io.grpc.netty.shaded.io.netty.channel.epoll.Native.epollWait":  true,
	"io.grpc.netty.shaded.io.netty.channel.epoll.Native.epollWait0": true,

	// Sockets.
	"java.net.PlainSocketImpl.socketAccept":                             true,
	"java.net.PlainSocketImpl.socketConnect":                            true,
	"java.net.PlainSocketImpl.accept0":                                  true,
	"java.net.DualStackPlainSocketImpl.accept0":                         true,
	"java.net.DualStackPlainSocketImpl.waitForConnect":                  true,
	"java.net.TwoStacksPlainSocketImpl.socketAccept":                    true,
	"java.net.SocketInputStream.socketRead0":                            true,
	"java.net.PlainDatagramSocketImpl.receive0":                         true,
	"java.net.PlainDatagramSocketImpl.peekData":                         true,
	"java.net.DualStackPlainDatagramSocketImpl.socketReceiveOrPeekData": true,
	"java.net.Inet4AddressImpl.lookupAllHostAddr":                       true,
	"java.net.Inet6AddressImpl.lookupAllHostAddr":                       true,
	"sun.nio.ch.Net.accept":                                             true,
	"sun.nio.ch.Net.connect0":                                           true,
	"sun.nio.ch.ServerSocketChannelImpl.accept0":                        true,
	"sun.nio.ch.SocketDispatcher.read0":                                 true,
	"sun.nio.ch.SocketDispatcher.readv0":                                true,
	"sun.nio.ch.UnixDomainSockets.accept0":                              true,
	"sun.nio.ch.UnixAsynchronousServerSocketChannelImpl.accept0":        true,
	"sun.nio.ch.DatagramChannelImpl.receive0":                           true,
	"sun.nio.ch.DatagramDispatcher.read0":                               true,
	"sun.nio.ch.SctpChannelImpl.receive0":                               true,
	"org.apache.tomcat.jni.Socket.accept":                               true,
	"org.apache.tomcat.jni.Socket.recv":                                 true,
	"sun.tools.attach.LinuxVirtualMachine.read":                         true,
	"sun.tools.attach.VirtualMachineImpl.read":                          true,

	// Children, file watches and the VM's own queues.
	"java.lang.UNIXProcess.waitForProcessExit":                      true, // JDK 8
	"java.lang.ProcessImpl.waitForInterruptibly":                    true,
	"java.lang.ProcessImpl.waitForTimeoutInterruptibly":             true,
	"java.lang.ProcessHandleImpl.waitForProcessExit0":               true,
	"sun.nio.fs.LinuxWatchService.poll":                             true,
	"sun.nio.fs.WindowsNativeDispatcher.GetQueuedCompletionStatus0": true,
	"java.lang.ref.Reference.waitForReferencePendingList":           true,
	"java.lang.VirtualThread.takeVirtualThreadListToUnblock":        true,
}
