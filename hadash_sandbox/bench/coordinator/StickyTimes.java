import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/**
 * Says for each line how many milliseconds Kafka's StickyAssignor takes: the first time, and after WARM times. A question is
 * {"what": …, "members": [name, …], "held": [name or "" by partition]}.
 */
public class StickyTimes {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOPIC = "records";
    private static final int WARM = 30;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            double first = milliseconds(question), last = 0;
            for (int time = 0; time < WARM; time++)
                last = milliseconds(question);
            System.out.printf("{\"what\": %s, \"first\": %.1f, \"warm\": %.1f}%n", question.get("what"), first, last);
        }
    }

    private static double milliseconds(JsonNode question) {
        int partitions = question.get("held").size();
        Map<String, List<Integer>> owned = new HashMap<>();
        for (int partition = 0; partition < partitions; partition++)
            owned.computeIfAbsent(question.get("held").get(partition).asText(), name -> new ArrayList<>()).add(partition);
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : question.get("members"))
            subscriptions.put(member.asText(), new Subscription(List.of(TOPIC), previous(owned.get(member.asText()))));
        Node node = new Node(0, "broker", 9092);
        Node[] replicas = {node};
        List<PartitionInfo> infos = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++)
            infos.add(new PartitionInfo(TOPIC, partition, node, replicas, replicas));
        Cluster cluster = new Cluster("cluster", List.of(node), infos, Set.of(), Set.of());
        long began = System.nanoTime();
        new StickyAssignor().assign(cluster, new GroupSubscription(subscriptions));
        return (System.nanoTime() - began) / 1e6;
    }

    /** The assignor's user data, of its second version. */
    private static ByteBuffer previous(List<Integer> owned) {
        if (owned == null)
            return null;
        byte[] topic = TOPIC.getBytes(StandardCharsets.UTF_8);
        ByteBuffer data = ByteBuffer.allocate(64 + topic.length + 4 * owned.size());
        data.putInt(1).putShort((short) topic.length).put(topic).putInt(owned.size());
        owned.forEach(data::putInt);
        data.putInt(1);
        data.flip();
        return data;
    }
}
