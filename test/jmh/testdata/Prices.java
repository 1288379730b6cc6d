package shop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.openjdk.jmh.annotations.*;

@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@Fork(1)
@Warmup(iterations = 1, time = 1)
@Measurement(iterations = 2, time = 1)
public class Prices {
  @Param({"100", "1000"})
  public int size;

  @Benchmark
  public String sorted() {
    List<String> list = new ArrayList<>();
    for (int i = 0; i < size; i++) list.add(Integer.toString(i * 7919 % 1000));
    Collections.sort(list);
    return String.join(",", list);
  }
}
